-- Start a run whose routine allows overlap: PENDING -> RUNNING by compare-and-set, and everything its execution needs.
-- The run is locked, then the routine is read under a share lock, as it is by then: an edit to an exclusive policy comes
-- either before that, and nothing starts here, or after this commit, and every exclusive start sees the run. The lock
-- on the routine is not waited for (a verb may hold it and want the run): while somebody edits it nothing starts here.
-- The run's row is waited for as long as `lock_timeout` says, an error after that: other runs want this worker. Whoever
-- has locked the whole table (a migration) is waited for.
-- What takes the places in braces: may_start.sql, the exclusive policies, the columns of facts.py.
-- Arguments: run (uuid), worker (text), token (uuid), orphan_seconds (int), eligible (timestamptz),
-- lock_timeout (text; NULL: as the caller's transaction has it).
-- Result: the facts (see facts.py), or no row when it may not start like this.
WITH limits AS MATERIALIZED (
    SELECT set_config('lock_timeout', COALESCE(%(lock_timeout)s::text, current_setting('lock_timeout')), true)
), ready AS MATERIALIZED (
    SELECT run.id AS run_id, routine.*
    FROM limits -- before the first lock: a row is locked when it has been joined
    CROSS JOIN routines_routinerun AS run
    JOIN routines_routine AS routine ON routine.id = run.routine_id
    WHERE {may_start}
      AND routine.concurrency_policy NOT IN ({exclusive})
    FOR NO KEY UPDATE OF run
    FOR SHARE OF routine SKIP LOCKED
)
UPDATE routines_routinerun AS run
SET status = 'RUNNING',
    reason = '',
    started_at = statement_timestamp(),
    heartbeat_at = statement_timestamp(),
    worker = %(worker)s,
    start_token = %(token)s::uuid,
    orphan_seconds = %(orphan_seconds)s::int,
    publish_after = NULL
FROM ready AS routine
JOIN routines_routinestate AS state ON state.routine_id = routine.id
WHERE run.id = routine.run_id
RETURNING {facts}
