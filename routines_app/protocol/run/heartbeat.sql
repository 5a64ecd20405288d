-- The runs of one process say that they live. Arguments: runs (uuid[]), progress (jsonb[] as text[], NULL: unchanged).
-- Result: for each run that is still RUNNING its id, fence, stop_requested_at and stop_reason. A run that is not in the
-- result is no longer ours. The runs are locked in the order of their ids, as everywhere.
WITH locked AS MATERIALIZED (
    SELECT id FROM routines_routinerun
    WHERE id = ANY (%(runs)s::uuid[]) AND status = 'RUNNING'
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE routines_routinerun AS run
SET heartbeat_at = clock_timestamp(),
    progress = COALESCE(alive.progress::jsonb, run.progress)
FROM locked
JOIN unnest(%(runs)s::uuid[], %(progress)s::text[]) AS alive (id, progress) ON alive.id = locked.id
WHERE run.id = locked.id AND run.status = 'RUNNING'
RETURNING run.id, run.fence, run.stop_requested_at, run.stop_reason
