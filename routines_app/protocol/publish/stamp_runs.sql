-- Note that runs are in the broker. A run that a worker has meanwhile handed back is not: its message is used up.
-- Arguments: now, when to look for a lost message, an array of run ids.
UPDATE routines_routinerun
SET dispatched_at = %s, publish_count = publish_count + 1, publish_after = %s
WHERE id = ANY (%s::uuid[]) AND dispatched_at IS NULL AND admitted_at IS NOT NULL
