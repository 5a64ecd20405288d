-- Start a run whose routine allows overlap: PENDING -> RUNNING by compare-and-set, and everything its execution needs.
-- What takes the places in braces: may_start.sql, the exclusive policies, the columns of facts.py.
-- Arguments: run (uuid), worker (text). Result: the facts (see facts.py), or no row when it may not start like this.
UPDATE routines_routinerun AS run
SET status = 'RUNNING',
    reason = '',
    started_at = statement_timestamp(),
    heartbeat_at = statement_timestamp(),
    worker = %(worker)s,
    publish_after = NULL
FROM routines_routine AS routine
JOIN routines_routinestate AS state ON state.routine_id = routine.id
WHERE {may_start}
  AND routine.id = run.routine_id
  AND routine.concurrency_policy NOT IN ({exclusive})
RETURNING {facts}
