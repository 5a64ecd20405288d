"""Receivers of the routines signals: structured log records, and Celery events for Flower and other monitors."""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app
from celery import signals as celery_signals
from celery.utils.nodenames import gethostname
from django.dispatch import Signal

from routines_app import signals
from routines_app.models import Routine, RoutineRun

logger = logging.getLogger("routines_app.runs")

_EVENTS: dict[Signal, tuple[str, int, type]] = {
    signals.run_started: ("routine-run-started", logging.DEBUG, RoutineRun),
    signals.run_succeeded: ("routine-run-succeeded", logging.INFO, RoutineRun),
    signals.run_failed: ("routine-run-failed", logging.WARNING, RoutineRun),
    signals.run_skipped: ("routine-run-skipped", logging.INFO, RoutineRun),
    signals.run_cancelled: ("routine-run-cancelled", logging.INFO, RoutineRun),
    signals.run_overdue: ("routine-run-overdue", logging.ERROR, RoutineRun),
    signals.routine_exhausted: ("routine-exhausted", logging.ERROR, Routine),
    signals.routine_parked: ("routine-parked", logging.ERROR, Routine),
}

_worker_sends_events = False  # set before the pool's processes are forked


def mirror(*, signal: Signal, run: RoutineRun | None, routine: Routine, reason: str = "", **_: Any) -> None:
    """Write the event to the log and, when monitors have asked for events, to Celery's event exchange."""
    kind, level, _sender = _EVENTS[signal]
    if logger.isEnabledFor(level):
        facts = event_facts(run, routine, reason)
        text, which = "%s: %s run %s (attempt %s) %s", (facts["uuid"], facts["attempt"])
        logger.log(level, text, routine.name, kind, *which, reason, extra={"routine_event": facts})
    if _worker_sends_events:
        _send_to_monitors(kind, event_facts(run, routine, reason))


def event_facts(run: RoutineRun | None, routine: Routine, reason: str) -> dict[str, Any]:
    """The facts that both kinds of record carry; a routine that is parked for its schedule has no run to tell of."""
    return {
        "uuid": "" if run is None else str(run.pk),
        "routine": routine.name,
        "task": routine.task if run is None else run.task,
        "status": "" if run is None else run.status,
        "reason": reason,
        "attempt": 0 if run is None else run.attempt,
        "slot": "" if run is None else run.scheduled_for.isoformat(),
    }


def _send_to_monitors(kind: str, facts: dict[str, Any]) -> None:
    with current_app.events.default_dispatcher(hostname=gethostname(), enabled=True) as dispatcher:
        dispatcher.send(kind, **facts)


@celery_signals.worker_init.connect(weak=False)
def note_whether_events_are_wanted(sender: Any = None, **_: Any) -> None:
    """`celery worker -E` or `worker_send_task_events`: without either, nobody listens."""
    global _worker_sends_events
    _worker_sends_events = bool(getattr(sender, "task_events", False))


for _signal, (_kind, _level, _sender) in _EVENTS.items():
    _signal.connect(mirror, sender=_sender, dispatch_uid=f"{signals.OWN}{_kind}")
