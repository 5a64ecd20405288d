-- End a RUNNING run by compare-and-set, count it in its routine's state, and insert the next attempt if there is one.
-- The state is locked first (the lock order). A run that was asked to stop ends CANCELLED instead of FAILED and has no
-- next attempt; an archived routine has none either, also when it was archived while this waited for the lock: the
-- locked state is read anew then, the routine is not. Whoever lost the row changes nothing.
-- What takes the place of "mirror" is nothing, or writes the record of django-celery-results as well (mirror_result.sql).
-- Whoever is not the process that executes the run has no token, and takes the row's away.
-- Arguments: run, routine, fence, token, tell_after, status, reason, result, error, traceback, progress, succeeded,
--   retry (bool), retry_id, retry_key, retry_at, retry_budget, retry_own, retry_args, retry_kwargs.
-- Result: one row if the run was still ours: status, reason, whether it had a pool, failure_count before, next_source,
--   whether the chain goes on, and the id of the next attempt (another one's, where its key has a row already; NULL: too new to be seen).
WITH locked AS MATERIALIZED (
    SELECT routine_id, failure_count, next_source
    FROM routines_routinestate WHERE routine_id = %(routine)s FOR UPDATE
), ended AS (
    UPDATE routines_routinerun AS run
    SET status = CASE WHEN run.stop_requested_at IS NOT NULL AND NOT %(succeeded)s
                      THEN 'CANCELLED' ELSE %(status)s::text END,
        reason = CASE WHEN run.stop_requested_at IS NOT NULL AND NOT %(succeeded)s
                      THEN run.stop_reason ELSE %(reason)s::text END,
        completed_at = statement_timestamp(),
        running_key = NULL,
        publish_after = NULL,
        start_token = %(token)s::uuid,
        tell_after = %(tell_after)s::timestamptz,
        result = %(result)s,
        error = COALESCE(NULLIF(%(error)s::text, ''), run.error), -- who cancelled it may have said why
        traceback = %(traceback)s,
        progress = COALESCE(%(progress)s::jsonb, run.progress)
    FROM locked
    WHERE run.id = %(run)s
      AND run.status = 'RUNNING'
      AND run.fence IS NOT DISTINCT FROM %(fence)s::bigint
    RETURNING run.*
), goes_on AS (
    SELECT routine.id,
           COALESCE(routine.pool_id, (SELECT id FROM routines_pool WHERE is_default)) AS pool_id
    FROM ended
    JOIN locked ON locked.routine_id = ended.routine_id
    JOIN routines_routine AS routine ON routine.id = ended.routine_id
    WHERE %(retry)s
      AND ended.stop_requested_at IS NULL
      AND routine.status <> 'ARCHIVED'
      AND locked.next_source <> 'archived'
), counted AS (
    UPDATE routines_routinestate AS state
    SET last_run_at = ended.completed_at,
        last_success_at = CASE WHEN %(succeeded)s THEN ended.completed_at ELSE state.last_success_at END,
        failure_count = CASE WHEN %(succeeded)s THEN 0
                             WHEN ended.status = 'FAILED' AND NOT EXISTS (SELECT FROM goes_on)
                             THEN state.failure_count + 1 ELSE state.failure_count END
    FROM ended
    WHERE state.routine_id = ended.routine_id
), retried AS (
    INSERT INTO routines_routinerun (
        id, routine_id, status, reason, "trigger", source, task, queue, timeout_ms, args, kwargs, pool_id,
        scheduled_for, eligible_at, publish_after, attempt, budget_used, own_retries, retry_of_id, chain, idempotency_key, requested_by,
        requested_at, rotation_id, phase, tick
    )
    SELECT %(retry_id)s::uuid, ended.routine_id, 'PENDING', 'not_yet', 'retry', ended.source, ended.task, ended.queue,
           ended.timeout_ms, COALESCE(%(retry_args)s::jsonb, ended.args), COALESCE(%(retry_kwargs)s::jsonb, ended.kwargs),
           goes_on.pool_id, ended.scheduled_for, %(retry_at)s::timestamptz, %(retry_at)s::timestamptz,
           ended.attempt + 1, %(retry_budget)s::int, COALESCE(%(retry_own)s::int, 0), ended.id, COALESCE(ended.chain, ended.id), %(retry_key)s::text,
           ended.requested_by, ended.requested_at, ended.rotation_id, ended.phase, ended.tick
    FROM ended
    JOIN goes_on ON goes_on.id = ended.routine_id
    ON CONFLICT (idempotency_key) DO NOTHING
    RETURNING id
) {mirror}
SELECT ended.status, ended.reason, ended.pool_id IS NOT NULL, locked.failure_count, locked.next_source, EXISTS (SELECT FROM goes_on),
       COALESCE((SELECT id FROM retried), (SELECT id FROM routines_routinerun WHERE idempotency_key = %(retry_key)s::text))
FROM ended, locked
