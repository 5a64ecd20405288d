-- What the machinery remembers of the fleet: slots over a day, few of them overdue, few failing, few under a hint; the
-- stretch of names `bench-3…` has many that never ran.
-- arguments: none
INSERT INTO routines_routinestate (
    routine_id, last_slot, grid_from, next_slot, slot_source, next_run_at, next_source, last_run_at, last_success_at,
    failure_count, hint_factor, hint_factor_expires_at
)
SELECT
    id,
    slot - interval '1 day', slot,
    CASE WHEN trigger_kind <> 'MANUAL' THEN slot END,
    CASE WHEN trigger_kind <> 'MANUAL' THEN 'baseline-' || lower(trigger_kind) ELSE '' END,
    CASE WHEN status = 'PAUSED' THEN paused_until WHEN status = 'ACTIVE' AND trigger_kind <> 'MANUAL' THEN slot END,
    CASE WHEN status <> 'ACTIVE' THEN lower(status) WHEN trigger_kind = 'MANUAL' THEN 'manual'
         ELSE 'baseline-' || lower(trigger_kind) END,
    CASE WHEN NOT never THEN now() - n %% 86400 * interval '1 s' END,
    CASE WHEN NOT never AND n %% 3000 <> 41 THEN now() - n %% 86400 * interval '1 s' END,
    CASE WHEN n %% 3000 = 41 THEN 2 ELSE 0 END,
    CASE WHEN n %% 10000 = 71 THEN 2.0 END,
    CASE WHEN n %% 10000 = 71 THEN now() + interval '1 day' END
FROM routines_routine,
     LATERAL (SELECT substr(name, 7)::int AS n) AS numbered,
     LATERAL (SELECT n::text LIKE '3%%' AND n %% 2 = 0 AS never,
                     CASE WHEN n %% 5000 = 51 THEN now() - interval '10 minutes'
                          ELSE now() + interval '10 minutes' + n %% 86400 * interval '1 s' END AS slot) AS planned
WHERE name LIKE 'bench-%%'
ORDER BY id
