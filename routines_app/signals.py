"""Django signals about runs and routines, sent after the commit of what they tell.

`run_…` are sent with `sender=RoutineRun`, `run` and `routine`; `routine_…` with `sender=Routine`, `routine` and `run`
(the last run of the chain that failed; None when the schedule itself cannot be computed). `reason` says why where a
status alone does not. At hand, without a query, are `routine.id` and `routine.name`, and of the run its `id`, `task`,
`scheduled_for` (the slot), `attempt`, `trigger`, `source`, `status` and `reason`, and the `error` of one that failed.
Other fields are read from the database when they are used. A receiver that fails is logged and changes nothing.

The signals of an end are sent once by whoever has ended the run; when that process dies before it has, by a beat a
little later. So a receiver may be called twice for one end, after a crash.
"""

from __future__ import annotations

from django.dispatch import Signal

run_started = Signal()
"""A body begins."""
run_succeeded = Signal()
"""A run has succeeded; of a rotation also a tick that has picked members."""
run_failed = Signal()
"""An attempt failed; `will_retry` says whether the chain goes on."""
run_skipped = Signal()
"""Slots that will not run; one run may stand for many of them."""
run_cancelled = Signal()
"""A run was cancelled, replaced or interrupted."""
run_overdue = Signal()
"""A body that was to stop runs on and cannot be stopped: it stays RUNNING until it returns."""
routine_exhausted = Signal()
"""The last attempt of a chain failed; once per chain."""
routine_parked = Signal()
"""The routine will not be picked again until somebody resets it."""

OWN = "routines_app.receivers."  # how the ids of our own receivers begin


def others_listen(signal: Signal) -> bool:
    """Whether this process has a receiver that is not ours."""
    return any(not str(receiver[0][0]).startswith(OWN) for receiver in signal.receivers)
