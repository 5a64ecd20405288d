-- A fleet as fleets are: most routines alike, few special, and those of one kind in one stretch of names, so that no
-- walk along an index meets them early. `bench-N` is number N; the first of them has most of the runs.
-- arguments: count; task
INSERT INTO routines_routine (
    name, tags, "group", task, args, kwargs, queue, trigger_kind, cron, interval_ms, once_at, status, paused_until,
    priority, concurrency_policy, pool_id, shadow, declared_in, retry_for, no_retry_for, created_at, updated_at
)
SELECT
    'bench-' || n,
    CASE WHEN n::text LIKE '9%%' AND n %% 200 = 7 THEN '["rare"]' WHEN n %% 10 = 2 THEN '["nightly"]' ELSE '[]' END::jsonb,
    CASE WHEN n::text LIKE '9%%' AND n %% 200 = 7 THEN 'rare' WHEN n %% 2 = 0 THEN 'team-' || n %% 200 ELSE '' END,
    CASE WHEN n %% 4000 = 9 THEN 'gone.tasks.old' ELSE %(task)s END,
    '[]', '{}',
    CASE WHEN n %% 5000 = 11 THEN 'slow' ELSE '' END,
    kind,
    CASE WHEN kind = 'CRON' THEN n / 20 %% 60 || ' ' || n / 1200 %% 5 || ' * * *' ELSE '' END,
    CASE WHEN kind = 'INTERVAL' THEN CASE WHEN n %% 100 = 4 THEN 300000 WHEN n %% 10 = 6 THEN 3600000 ELSE 86400000 END END,
    CASE WHEN kind = 'ONCE' THEN now() + n * interval '100 ms' END,
    status,
    CASE WHEN status = 'PAUSED' AND n %% 2 = 0 THEN now() + n * interval '1 s' END,
    CASE WHEN n %% 10000 = 5 THEN 'LOW' WHEN n %% 50 = 6 THEN 'HIGH' ELSE 'MEDIUM' END,
    CASE WHEN n %% 2000 = 3 THEN 'REPLACE' WHEN n %% 10 = 8 THEN 'FORBID' ELSE 'ALLOW' END,
    CASE WHEN n %% 10 = 3 THEN (SELECT min(id) FROM routines_pool) + n / 10 %% 10 END,
    n %% 20000 = 31,
    CASE WHEN n %% 2000 = 13 THEN 'code:code' ELSE 'database' END,
    '[]', '[]', now() - interval '30 days', now() - interval '30 days'
FROM generate_series(0, %(count)s - 1) AS n,
     LATERAL (SELECT CASE WHEN n::text LIKE '6%%' AND n %% 4 = 0 THEN 'MANUAL' WHEN n %% 20 = 1 THEN 'CRON'
                          WHEN n %% 1000 = 19 THEN 'ONCE' ELSE 'INTERVAL' END AS kind,
                     CASE WHEN n::text LIKE '8%%' AND n %% 5 = 0 THEN 'PAUSED'
                          WHEN n::text LIKE '5%%' AND n %% 10 = 0 THEN 'ARCHIVED'
                          WHEN n %% 4000 = 17 THEN 'PARKED' ELSE 'ACTIVE' END AS status) AS special
