-- Note that the ends of runs were told, in one round trip: a worker does it for each end where somebody listens.
-- Rows that somebody holds, a receiver's task perhaps, are left as they are: a beat tells those ends once more.
-- Arguments: an array of run ids.
WITH free AS MATERIALIZED (
    SELECT id FROM routines_routinerun
    WHERE id = ANY (%s::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE routines_routinerun AS run
SET tell_after = NULL
FROM free
WHERE run.id = free.id
