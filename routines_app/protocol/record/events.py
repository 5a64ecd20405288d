"""Events: what happened to a run is told once it is committed, and never disturbs the run.

The facts come from memory: a run that starts and succeeds costs no statement more because somebody listens.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from django.dispatch import Signal

from routines_app import signals
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.database import on_commit
from routines_app.protocol.record.facts import RunFacts, light_run

logger = logging.getLogger(__name__)

_ENDED = {
    RunStatus.SUCCESS: signals.run_succeeded,
    RunStatus.FAILED: signals.run_failed,
    RunStatus.SKIPPED: signals.run_skipped,
    RunStatus.CANCELLED: signals.run_cancelled,
}
_ENDED_UNSTARTED = {status.value: _ENDED[status] for status in (RunStatus.SKIPPED, RunStatus.CANCELLED)}


def run_started(facts: RunFacts) -> None:
    run = light_run(facts, status=RunStatus.RUNNING.value)
    emit(signals.run_started, RoutineRun, run=run, routine=run.routine)


def run_ended(facts: RunFacts, status: RunStatus, reason: str, **known: Any) -> None:
    """A run that was RUNNING has ended; `known` are more facts for the receivers."""
    run = light_run(facts, status=status.value, reason=str(reason))
    emit(_ENDED[status], RoutineRun, run=run, routine=run.routine, reason=str(reason), **known)


def tell(runs: Iterable[RoutineRun]) -> None:
    """Send the signals of runs that ended without a worker, after the commit."""
    for run in runs:
        if run.status in _ENDED_UNSTARTED:
            emit(_ENDED_UNSTARTED[run.status], RoutineRun, run=run, routine=run.routine, reason=run.reason)


def routine_exhausted(facts: RunFacts, reason: str) -> None:
    run = light_run(facts, status=RunStatus.FAILED.value, reason=str(reason))
    emit(signals.routine_exhausted, Routine, routine=run.routine, run=run, reason=str(reason))


def routine_parked(facts: RunFacts, reason: str) -> None:
    run = light_run(facts, status=RunStatus.FAILED.value)
    emit(signals.routine_parked, Routine, routine=run.routine, run=run, reason=reason)


def emit(signal: Signal, sender: type, **facts: Any) -> None:
    """Send the signal after the ledger's commit. Receivers that fail are logged and change nothing."""
    if signal.has_listeners(sender):
        on_commit(lambda: _send(signal, sender, facts))


def _send(signal: Signal, sender: type, facts: dict[str, Any]) -> None:
    for receiver, answer in signal.send_robust(sender, **facts):
        if isinstance(answer, Exception):
            logger.error("receiver %r failed: %r", receiver, answer, exc_info=answer)
