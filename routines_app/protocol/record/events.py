"""Events: what happened to a run is told once it is committed, and never disturbs the run.

The facts come from memory: a run that starts and succeeds costs no statement more because of our own receivers. Where
others listen, the row says until when its end should have been told (`told`): if this process dies before, a beat does
it. So every end is told, and twice only after a crash.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.dispatch import Signal

from routines_app import signals
from routines_app.core.transitions import TERMINAL
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import on_commit
from routines_app.protocol.record import told
from routines_app.protocol.record.facts import RunFacts, light_run

TOLD_AT_ONCE = 100  # rows whose signals have been sent are marked together, before the next are sent

logger = logging.getLogger(__name__)

_ENDED = {
    RunStatus.SUCCESS: signals.run_succeeded,
    RunStatus.FAILED: signals.run_failed,
    RunStatus.SKIPPED: signals.run_skipped,
    RunStatus.CANCELLED: signals.run_cancelled,
}
_OF_A_ROUTINE = (signals.routine_exhausted, signals.routine_parked)


def run_started(facts: RunFacts) -> None:
    run = light_run(facts, status=RunStatus.RUNNING.value)
    emit(signals.run_started, RoutineRun, run=run, routine=run.routine)


def is_heard(status: RunStatus) -> bool:
    """Whether this process has receivers of somebody else's for such an end."""
    others = _OF_A_ROUTINE if status == RunStatus.FAILED else ()
    return any(signals.others_listen(signal) for signal in (_ENDED[status], *others))


def run_ended(run: RoutineRun, *, will_retry: bool = False, exhausted: bool = False, parked: str = "") -> None:
    """A run has ended, as its row says, and perhaps its chain or its routine (`parked` is why) with it."""
    status = RunStatus(run.status)
    about: dict[str, Any] = {"run": run, "routine": run.routine}
    known = {"will_retry": will_retry} if status == RunStatus.FAILED else {}
    emit(_ENDED[status], RoutineRun, **about, reason=run.reason, **known)
    if exhausted:
        emit(signals.routine_exhausted, Routine, **about, reason=run.reason)
    if parked:
        emit(signals.routine_parked, Routine, **about, reason=parked)


def run_overdue(facts: RunFacts) -> None:
    """Its body was to stop, and runs on."""
    reason = Reason.OVERDUE.value
    run = light_run(facts, status=RunStatus.RUNNING.value, reason=reason)
    emit(signals.run_overdue, RoutineRun, run=run, routine=run.routine, reason=reason)


def tell(runs: Iterable[RoutineRun]) -> None:
    """Send the signals of runs that ended without a worker, after the commit. Call it in the transaction of the end."""
    ended = (run for run in runs if run.status in TERMINAL)
    while some := list(islice(ended, TOLD_AT_ONCE)):
        heard = [run.pk for run in some if is_heard(RunStatus(run.status))]
        told.expect(heard, clock.now())
        for run in some:
            run_ended(run)
        told.note(heard)


def emit(signal: Signal, sender: type, **facts: Any) -> None:
    """Send the signal after the ledger's commit. Receivers that fail are logged and change nothing."""
    if signal.has_listeners(sender):
        on_commit(lambda: _send(signal, sender, facts))


def _send(signal: Signal, sender: type, facts: dict[str, Any]) -> None:
    for receiver, answer in signal.send_robust(sender, **facts):
        if isinstance(answer, Exception):
            logger.error("receiver %r failed: %r", receiver, answer, exc_info=answer)
