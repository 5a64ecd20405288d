-- Note that runs are in the broker. A run that a worker has meanwhile handed back is not: its message is used up.
-- The runs are locked in the order of their ids, as everywhere; what takes the place of "skip" says whether those that
-- somebody holds are waited for or left out.
-- Arguments: an array of run ids, now, when to look for a lost message.
WITH locked AS MATERIALIZED (
    SELECT id FROM routines_routinerun
    WHERE id = ANY (%s::uuid[]) AND dispatched_at IS NULL AND admitted_at IS NOT NULL
    ORDER BY id
    FOR NO KEY UPDATE {skip}
)
UPDATE routines_routinerun AS run
SET dispatched_at = %s, publish_count = publish_count + 1, publish_after = %s
FROM locked
WHERE run.id = locked.id
