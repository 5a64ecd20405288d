-- The runs of one worker say that they live. Arguments: runs (uuid[]), progress (jsonb[] as text[], NULL: unchanged).
-- Result: for each run that is still RUNNING its id, fence, stop_requested_at, stop_reason and whether it was stamped. A
-- run that is not in the result is no longer ours: that is a plain read, which no lock can hide. A row that somebody else
-- has locked is left for the next time: waiting for it would silence all the others.
WITH locked AS MATERIALIZED (
    SELECT id FROM routines_routinerun
    WHERE id = ANY (%(runs)s::uuid[]) AND status = 'RUNNING'
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
), stamped AS (
    UPDATE routines_routinerun AS run
    SET heartbeat_at = clock_timestamp(),
        progress = COALESCE(alive.progress::jsonb, run.progress)
    FROM locked
    JOIN unnest(%(runs)s::uuid[], %(progress)s::text[]) AS alive (id, progress) ON alive.id = locked.id
    WHERE run.id = locked.id AND run.status = 'RUNNING'
    RETURNING run.id
)
SELECT run.id, run.fence, run.stop_requested_at, run.stop_reason, stamped.id IS NOT NULL
FROM routines_routinerun AS run
LEFT JOIN stamped ON stamped.id = run.id
WHERE run.id = ANY (%(runs)s::uuid[]) AND run.status = 'RUNNING'
