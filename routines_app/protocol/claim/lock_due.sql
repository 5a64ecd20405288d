-- Lock the states of due routines that nobody else has locked.
-- Arguments: now, an array of routines to leave out, how many. Result: their ids.
SELECT routine_id
FROM routines_routinestate
WHERE next_run_at <= %s AND routine_id <> ALL (%s::bigint[])
ORDER BY next_run_at, routine_id
LIMIT %s
FOR UPDATE SKIP LOCKED
