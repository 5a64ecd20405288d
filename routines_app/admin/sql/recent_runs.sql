-- The newest runs of several routines, back to the first run of the oldest of so many slots, or to a limit of runs.
-- Each routine's are found through the index (routine, id), and nothing is read beyond them.
-- arguments: routine ids (array), runs per routine at most, slots per routine less one, runs per routine at most
-- result:    routine id, first run of the chain, status, attempt, started_at, completed_at; oldest first
SELECT run.routine_id, COALESCE(run.chain, run.id), run.status, run.attempt, run.started_at, run.completed_at
FROM unnest(%s::bigint[]) AS routine (id)
LEFT JOIN LATERAL (
    SELECT newest.id
    FROM (SELECT id, chain FROM routines_routinerun WHERE routine_id = routine.id ORDER BY id DESC LIMIT %s) AS newest
    WHERE newest.chain IS NULL
    OFFSET %s
    LIMIT 1
) AS oldest ON TRUE
CROSS JOIN LATERAL (
    SELECT id, chain, routine_id, status, attempt, started_at, completed_at
    FROM routines_routinerun
    WHERE routine_id = routine.id AND id >= COALESCE(oldest.id, '00000000-0000-0000-0000-000000000000')
    ORDER BY id DESC
    LIMIT %s
) AS run
ORDER BY run.id
