-- Read locked states with their routines. Argument: an array of ids. Result: the columns of DueRow.
SELECT {columns}
FROM routines_routinestate AS state
JOIN routines_routine AS routine ON routine.id = state.routine_id
WHERE state.routine_id = ANY (%s::bigint[])
ORDER BY state.next_run_at, state.routine_id
