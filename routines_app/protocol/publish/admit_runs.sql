-- Let held runs through, and read what their messages need. One that somebody else holds is left out.
-- Arguments: an array of run ids, now, when to look whether they are published, and how many characters the end of a
-- wait has and which these are (as `record/waits.py` writes it: NULL stays NULL); what takes the places of "args" and
-- "kwargs" says how much is read of them. Result: the columns of messages.py.
WITH locked AS MATERIALIZED (
    SELECT id FROM routines_routinerun
    WHERE id = ANY (%s::uuid[]) AND status = 'PENDING' AND admitted_at IS NULL
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE routines_routinerun AS run
SET admitted_at = %s, publish_after = %s, reason = '',
    waits = CASE WHEN run.waits IS NULL OR run.reason = '' THEN run.waits ELSE left(run.waits, -%s::int) || %s::text END
FROM locked, routines_routine AS routine
WHERE run.id = locked.id AND routine.id = run.routine_id
RETURNING
    run.id, routine.name, run.task, run.queue, routine.priority, run.timeout_ms, routine.concurrency_policy, routine.id,
    {args}, {kwargs}, routine.options
