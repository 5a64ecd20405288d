-- Insert many runs. Arguments: one array per column, in the order of NewRun. Result: the ids that were new.
INSERT INTO routines_routinerun (
    id, routine_id, status, reason, "trigger", source, task, queue, timeout_ms, pool_id,
    scheduled_for, next_planned_for, eligible_at, admitted_at, publish_after, completed_at,
    idempotency_key, scheduled_until, occurrences, blocked_by, waits
)
SELECT * FROM unnest(
    %s::uuid[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[],
    %s::bigint[],
    %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[],
    %s::text[], %s::timestamptz[], %s::int[], %s::uuid[], %s::text[]
)
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id
