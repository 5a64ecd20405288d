-- What every start asks, of a run and its routine, as `Look` in begin.py does in Python.
-- The words come from core: which statuses hold runs back. What somebody asked for by hand they do not hold.
run.id = %(run)s
  AND run.status = 'PENDING'
  AND routine.status <> 'ARCHIVED'
  AND (routine.status NOT IN ({held}) OR run.requested_at IS NOT NULL)
  AND run.eligible_at <= %(eligible)s::timestamptz -- the ledger's present, and what is no time at all
  AND (run.pool_id IS NULL OR run.admitted_at IS NOT NULL)
  AND (routine.expires_ms IS NULL -- as core/expiry.py says
       OR run.trigger = 'retry'
       OR CASE WHEN run.trigger = 'backfill' THEN run.eligible_at ELSE run.scheduled_for END
          + LEAST(routine.expires_ms, 100000000000000) * interval '1 millisecond' > statement_timestamp())
