-- Start an exclusive run: the routine's state is locked first (the lock order), then the fence is raised and the run
-- moves PENDING -> RUNNING with the running key. While the run may not start, or any other run of the routine is RUNNING,
-- nothing happens, not even to the fence; one that became RUNNING after this statement's snapshot is met by the unique
-- running key. Rows are waited for as long as `lock_timeout` says, an error after that: other runs
-- want this worker. Whoever has locked a whole table (a migration) is waited for.
-- What takes the places in braces: may_start.sql, the exclusive policies, the columns of facts.py.
-- Arguments: run (uuid), routine (bigint), worker (text), token (uuid), orphan_seconds (int), eligible (timestamptz),
-- lock_timeout (text; NULL: as the caller's transaction has it).
-- Result: the facts (see facts.py), or no row.
WITH limits AS MATERIALIZED (
    SELECT set_config('lock_timeout', COALESCE(%(lock_timeout)s::text, current_setting('lock_timeout')), true)
), locked AS MATERIALIZED (
    SELECT state.routine_id
    FROM limits -- before the first lock: a row is locked when it has been joined
    CROSS JOIN routines_routinestate AS state
    WHERE state.routine_id = %(routine)s
    FOR UPDATE OF state
), raised AS (
    UPDATE routines_routinestate AS state
    SET fence = state.fence + 1
    FROM locked
    WHERE state.routine_id = locked.routine_id
      AND NOT EXISTS (
          SELECT FROM routines_routinerun AS other
          WHERE other.routine_id = %(routine)s AND other.status = 'RUNNING'
      )
      AND EXISTS (
          SELECT FROM routines_routinerun AS run
          JOIN routines_routine AS routine ON routine.id = run.routine_id
          WHERE {may_start}
            AND run.routine_id = %(routine)s
            AND routine.concurrency_policy IN ({exclusive})
      )
    RETURNING state.routine_id, state.fence, state.failure_count, state.next_source
)
UPDATE routines_routinerun AS run
SET status = 'RUNNING',
    reason = '',
    started_at = statement_timestamp(),
    heartbeat_at = statement_timestamp(),
    worker = %(worker)s,
    start_token = %(token)s::uuid,
    orphan_seconds = %(orphan_seconds)s::int,
    publish_after = NULL,
    running_key = run.routine_id,
    fence = state.fence
FROM raised AS state
JOIN routines_routine AS routine ON routine.id = state.routine_id
WHERE {may_start} -- once more: this is the compare-and-set
  AND run.routine_id = %(routine)s
  AND routine.concurrency_policy IN ({exclusive})
RETURNING {facts}
