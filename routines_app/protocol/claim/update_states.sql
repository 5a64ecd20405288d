-- Move many states on. Arguments: one array per column, in the order of NewState.
UPDATE routines_routinestate AS state
SET last_slot = moved.last_slot,
    next_slot = moved.next_slot,
    slot_source = moved.slot_source,
    next_run_at = moved.next_run_at,
    next_source = moved.next_source,
    clamps_from = moved.clamps_from,
    fingerprint = moved.fingerprint,
    release_policy = moved.release_policy,
    release_until = moved.release_until
FROM unnest(
    %s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::timestamptz[], %s::text[], %s::timestamptz[],
    %s::text[], %s::text[], %s::timestamptz[]
) AS moved (
    routine_id, last_slot, next_slot, slot_source, next_run_at, next_source, clamps_from,
    fingerprint, release_policy, release_until
)
WHERE state.routine_id = moved.routine_id
