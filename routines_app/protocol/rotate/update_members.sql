-- Write where many members are in their cycles. Arguments: one array per column, in the order of members.write.
UPDATE routines_rotationmember AS member
SET status = moved.status,
    phase = moved.phase,
    failures = moved.failures,
    due_at = moved.due_at,
    retry_tick = moved.retry_tick,
    run = moved.run,
    attempted_at = moved.attempted_at,
    stale_since = moved.stale_since,
    cycles = moved.cycles
FROM unnest(
    %s::bigint[], %s::text[], %s::smallint[], %s::integer[], %s::timestamptz[], %s::bigint[], %s::uuid[],
    %s::timestamptz[], %s::timestamptz[], %s::bigint[]
) AS moved (
    routine_id, status, phase, failures, due_at, retry_tick, run, attempted_at, stale_since, cycles
)
WHERE member.routine_id = moved.routine_id
