"""Cancelling runs.

A PENDING run ends at once, by compare-and-set under the state's lock. A RUNNING run is asked to stop, and its watchdog
ends it; the ask and the run's own end are compare-and-sets too, so an end that comes first is simply the end.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from routines_app.coordination.wakeups import stop_runs, wake_beats
from routines_app.core.errors import NotAllowed
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end import overlap
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_state
from routines_app.verbs.checking.lookup import RunRef, find_run
from routines_app.verbs.editing import REASON, follow


def cancel_run(run: RunRef, *, reason: str = "", actor: str = "") -> RoutineRun:
    """End a PENDING run as CANCELLED, or ask a RUNNING one to stop; its chain ends with it.

    Returns the run as it is then: a RUNNING one stays so until its body has stopped.
    """
    said = who_and_why("cancelled", REASON("reason", reason), str(actor or ""))
    found = find_run(run)
    with transaction.atomic(using=ledger_alias()):
        lock_state(found.routine_id)
        now = clock.now()
        if not end_pending(found.routine_id, [found.pk], Reason.CANCELLED, now, said):
            _ask_to_stop(found, now, said)
        on_commit(wake_beats)
    ended = find_run(found.pk)
    if not isinstance(run, RoutineRun):
        return ended
    follow(run, ended)
    return run


def who_and_why(what: str, reason: str, actor: str) -> str:
    """What the run's row tells about it: who and why, as far as they were given."""
    by = f"{what} by {actor}" if actor else what
    if reason:
        return f"{by}: {reason}"
    return by if actor else ""


def _ask_to_stop(run: RoutineRun, now: datetime, said: str) -> None:
    runs = RoutineRun.objects.using(ledger_alias()).filter(pk=run.pk)
    if not runs.filter(status=RunStatus.RUNNING).exists():
        ended = runs.values_list("status", flat=True).first()
        raise NotAllowed("run", str(run.pk), f"only PENDING and RUNNING runs can be cancelled; this one is {ended}")
    if overlap.request_stop([run.pk], Reason.CANCELLED, now) and said:
        runs.filter(status=RunStatus.RUNNING).update(error=said)
    # Also when it was asked before: a watchdog that missed the first message gets another.
    on_commit(lambda: stop_runs([run.pk]))
