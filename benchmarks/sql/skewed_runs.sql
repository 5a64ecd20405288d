-- A week's history: a twenty-fifth of it of one routine, a third of a thousand others, the rest of whoever ever ran. One
-- in fifty failed, one in a hundred is a retry; what people asked for is rare, and the oldest. The newest wait or run.
-- arguments: routines; count; task; active (how many of the newest have not ended)
WITH numbered AS (
    SELECT n, (n * 2654435761) %% 1000003 AS spread, ((n + 1) * 2654435761) %% 1000003 AS next_spread,
           now() - (%(count)s - n) * interval '7 days' / %(count)s AS made
    FROM generate_series(1::bigint, %(count)s) AS n
), told AS (
    SELECT *, CASE WHEN spread %% 100 = 3 THEN n - 1 ELSE n END AS first, %(count)s - n AS age FROM numbered
), placed AS (
    SELECT told.*, pg_temp.run_id(n, made) AS id, pg_temp.run_id(n - 1, made - interval '7 days' / %(count)s) AS before,
           CASE WHEN age < 200 THEN 'RUNNING' WHEN age < %(active)s THEN 'PENDING'
                WHEN spread %% 50 = 0 OR next_spread %% 100 = 3 THEN 'FAILED' WHEN spread %% 400 = 1 THEN 'SKIPPED'
                WHEN spread %% 1000 = 2 THEN 'CANCELLED' ELSE 'SUCCESS' END AS status,
           CASE WHEN first %% 25 = 0 THEN 0 WHEN first %% 25 < 9 THEN 1 + (first * 31) %% 999
                ELSE (first * 7919) %% %(routines)s END AS chosen
    FROM told
), chosen AS (
    SELECT *, CASE WHEN chosen::text LIKE '3%%' AND chosen %% 2 = 0 THEN chosen + 1 ELSE chosen END AS number FROM placed
)
INSERT INTO routines_routinerun (
    id, routine_id, status, reason, trigger, task, pool_id, scheduled_for, eligible_at, admitted_at, publish_after,
    publish_count, dispatched_at, started_at, completed_at, heartbeat_at, attempt, chain, retry_of_id, idempotency_key,
    worker, requested_by, result, error, traceback
)
SELECT
    id, (SELECT min(id) FROM routines_routine) + number, status,
    CASE WHEN status = 'FAILED' THEN CASE WHEN n < 5000 THEN 'timeout' ELSE 'exception' END
         WHEN status = 'SKIPPED' THEN 'overlap' WHEN status = 'CANCELLED' THEN 'cancelled'
         WHEN status = 'PENDING' AND held THEN 'ceiling' WHEN age = 7 THEN 'overdue' ELSE '' END,
    CASE WHEN n BETWEEN 1 AND 300 THEN 'manual' WHEN n BETWEEN 301 AND 400 THEN 'backfill'
         WHEN n BETWEEN 401 AND 420 THEN 'catch_up' WHEN n BETWEEN 421 AND 425 THEN 'hint'
         WHEN first < n THEN 'retry' ELSE 'schedule' END,
    %(task)s,
    CASE WHEN status = 'PENDING' AND held THEN (SELECT min(id) FROM routines_pool) + n %% 10 END,
    made, made,
    CASE WHEN NOT held THEN made END,
    CASE WHEN status = 'PENDING' THEN now() + interval '1 hour' END,
    1,
    CASE WHEN NOT held THEN made + interval '20 ms' END,
    CASE WHEN status NOT IN ('PENDING', 'SKIPPED') THEN made + interval '50 ms' END,
    CASE WHEN age >= %(active)s THEN made + interval '50 ms' + n %% 3000 * interval '1 ms' END,
    CASE WHEN status = 'RUNNING' THEN now() END,
    CASE WHEN first < n THEN 2 ELSE 1 END,
    CASE WHEN first < n THEN before END,
    CASE WHEN first < n THEN before END,
    'fill:' || n,
    CASE WHEN status <> 'PENDING' THEN 'worker-' || n %% 20 || '@bench' ELSE '' END,
    CASE WHEN n BETWEEN 1 AND 300 THEN 'somebody' ELSE '' END,
    CASE WHEN status = 'SUCCESS' THEN '{"rows": ' || n %% 1000 || '}' END,
    CASE WHEN status = 'FAILED' THEN (ARRAY['ValueError', 'KeyError', 'OSError', 'TimeoutError'])[1 + n %% 4]
         || ': row ' || n || ' of table_' || n %% 12 || ' is not as it was' ELSE '' END,
    CASE WHEN status = 'FAILED' THEN 'Traceback (most recent call last):' || repeat(E'\n  File "work.py", line 1', 12)
         ELSE '' END
FROM chosen, LATERAL (SELECT status = 'PENDING' AND age < %(active)s * 5 / 6 AS held) AS held
ORDER BY n
