-- Start a run whose routine allows overlap: PENDING -> RUNNING by compare-and-set, and everything its execution needs.
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
WHERE run.id = %(run)s
  AND run.status = 'PENDING'
  AND routine.id = run.routine_id
  AND routine.concurrency_policy = 'ALLOW'
  AND routine.status <> 'ARCHIVED'
  AND (routine.status NOT IN ('PAUSED', 'PARKED') OR run.trigger = 'manual')
  AND (run.pool_id IS NULL OR run.admitted_at IS NOT NULL)
  AND (routine.expires_ms IS NULL -- as core/expiry.py says
       OR run.trigger = 'retry'
       OR CASE WHEN run.trigger = 'backfill' THEN run.eligible_at ELSE run.scheduled_for END
          + LEAST(routine.expires_ms, 100000000000000) * interval '1 millisecond' > statement_timestamp())
RETURNING {facts}
