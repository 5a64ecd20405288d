-- What stands around the fleet: who is there, what changed, what was moved from another scheduler, the log of a run.
-- arguments: none
INSERT INTO routines_node (
    name, role, host, pid, versions, queues, tasks, declares, running_runs, draining, started_at, seen_at
)
SELECT role || '@bench:' || n, role, 'bench', n, '{}', '["celery"]', '[]', '', 10, false, now() - interval '1 day', now()
FROM generate_series(1, 23) AS n, LATERAL (SELECT CASE WHEN n <= 3 THEN 'beat' ELSE 'worker' END AS role) AS roles;

INSERT INTO routines_schedulechange (routine_id, routine_name, kind, at, actor, reason, before, after)
SELECT id, name, 'updated', now() - n * interval '1 hour', 'somebody', '', '{"interval_ms": 1000}', '{"interval_ms": 2000}'
FROM routines_routine, generate_series(1, CASE WHEN name = 'bench-0' THEN 500 ELSE 1 END) AS n
WHERE name LIKE 'bench-1%' OR name = 'bench-0';

INSERT INTO routines_movedentry (routine_id, scheduler, key, created_at)
SELECT id, 'django-celery-beat', name, now() FROM routines_routine WHERE shadow;

INSERT INTO routines_runlog (run_id, at, line)
SELECT (SELECT id FROM routines_routinerun WHERE status = 'FAILED' ORDER BY id DESC LIMIT 1), now(), 'line ' || n
FROM generate_series(1, 200) AS n;

INSERT INTO routines_pausebatch (name, up_to_id, filled_at, selected_by, created_at, taken)
SELECT 'bench', max(id), now(), '{}', now(), 10000 FROM routines_routine;

UPDATE routines_routine SET pause_batch_id = (SELECT min(id) FROM routines_pausebatch)
WHERE id IN (SELECT id FROM routines_routine WHERE status = 'PAUSED' ORDER BY id LIMIT 10000);
