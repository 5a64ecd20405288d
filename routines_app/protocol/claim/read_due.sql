-- Read locked states with their routines; a routine whose key somebody holds, so that no run could refer to it, is left
-- out. Argument: an array of ids. Result: the columns of DueRow.
SELECT {columns}
FROM routines_routinestate AS state
JOIN routines_routine AS routine ON routine.id = state.routine_id
WHERE state.routine_id = ANY (%s::bigint[])
ORDER BY state.next_run_at, state.routine_id
FOR KEY SHARE OF routine SKIP LOCKED
