"""Cancelling runs.

A PENDING run ends at once, by compare-and-set under the state's lock. A RUNNING run is asked to stop, and its watchdog
ends it; the ask and the run's own end are compare-and-sets too, so an end that comes first is simply the end.
"""

from __future__ import annotations

from datetime import datetime

from routines_app.coordination.wakeups import stop_runs
from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end import overlap
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_state
from routines_app.verbs.checking.lookup import RunRef
from routines_app.verbs.ending import ending, who_and_why


def cancel_run(run: RunRef, *, reason: str = "", actor: str = "") -> RoutineRun:
    """End a PENDING run as CANCELLED, or ask a RUNNING one to stop; its chain ends with it.

    Returns the run as it is then: a RUNNING one stays so until its body has stopped.
    """
    told = who_and_why("cancelled", reason, actor)
    return ending(run, lambda found: _cancel(found, told))


def _cancel(run: RoutineRun, told: str) -> None:
    lock_state(run.routine_id)
    now = clock.now()
    if not end_pending(run.routine_id, [run.pk], Reason.CANCELLED, now, told):
        _ask_to_stop(run, now, told)


def _ask_to_stop(run: RoutineRun, now: datetime, told: str) -> None:
    runs = RoutineRun.objects.using(ledger_alias()).filter(pk=run.pk)
    if not runs.filter(status=RunStatus.RUNNING).exists():
        ended = runs.values_list("status", flat=True).first()
        raise NotAllowed(
            "run", str(run.pk), said("only PENDING and RUNNING runs can be cancelled; this one is {ended}", ended=ended)
        )
    if overlap.request_stop([run.pk], Reason.CANCELLED, now) and told:
        runs.filter(status=RunStatus.RUNNING).update(error=told)
    # Also when it was asked before: a watchdog that missed the first message gets another.
    on_commit(lambda: stop_runs([run.pk]))
