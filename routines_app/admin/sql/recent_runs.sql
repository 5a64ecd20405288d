-- The newest runs of several routines, each routine's found through the index (routine, id).
-- arguments: routine ids (array), how many runs per routine
-- result:    routine id, status, started_at, completed_at; oldest first
SELECT run.routine_id, run.status, run.started_at, run.completed_at
FROM unnest(%s::bigint[]) AS routine (id)
CROSS JOIN LATERAL (
    SELECT id, routine_id, status, started_at, completed_at
    FROM routines_routinerun
    WHERE routine_id = routine.id
    ORDER BY id DESC
    LIMIT %s
) AS run
ORDER BY run.id
