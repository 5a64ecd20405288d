"""Receivers of the routines signals: structured log records, and Celery events for Flower and other monitors."""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

from routines_app import signals
from routines_app.coordination import monitors
from routines_app.masks import masked_line
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.record.texts import cut

logger = logging.getLogger("routines_app.runs")

ERROR_CHARS = 1_000  # of the error text that an event carries; all of it is in the ledger
LINE_CHARS = 200  # of what a line of the log shows of it

# No error but those that nothing else reports: a failing attempt's is in the log with its traceback, as Celery writes
# it, and whoever collects errors from logs would count it again.
_EVENTS: dict[Signal, tuple[str, int, type]] = {
    signals.run_started: ("routine-run-started", logging.DEBUG, RoutineRun),
    signals.run_succeeded: ("routine-run-succeeded", logging.INFO, RoutineRun),
    signals.run_failed: ("routine-run-failed", logging.WARNING, RoutineRun),
    signals.run_skipped: ("routine-run-skipped", logging.INFO, RoutineRun),
    signals.run_cancelled: ("routine-run-cancelled", logging.INFO, RoutineRun),
    signals.run_overdue: ("routine-run-overdue", logging.ERROR, RoutineRun),
    signals.routine_exhausted: ("routine-exhausted", logging.WARNING, Routine),
    signals.routine_parked: ("routine-parked", logging.ERROR, Routine),
}


def mirror(*, signal: Signal, run: RoutineRun | None, routine: Routine, reason: str = "", **_: Any) -> None:
    """Write the event to the log and, where monitors want events, tell them."""
    kind, level, _sender = _EVENTS[signal]
    logged, told = logger.isEnabledFor(level), monitors.wanted()
    if not logged and not told:
        return
    facts = event_facts(run, routine, reason)
    if logged:
        _log(level, kind, facts)
    if told:
        monitors.tell(kind, facts | {"uuid": facts["run_id"]})  # Celery's word for it


def event_facts(run: RoutineRun | None, routine: Routine, reason: str) -> dict[str, Any]:
    """The facts that both kinds of record carry; a routine that is parked for its schedule has no run to tell of."""
    facts = {"routine": routine.name, "routine_id": routine.pk, "reason": _shown(str(reason))}
    if run is None:
        return facts | {"run_id": "", "task": routine.task}
    return facts | {
        "run_id": str(run.pk),
        "task": run.task,
        "slot": run.scheduled_for.isoformat(),
        "attempt": run.attempt,
        "trigger": str(run.trigger),
        "source": str(run.source),
        "status": str(run.status),
        "error": _shown(_known_error(run)),
    }


def _shown(text: str) -> str:
    """Masked before it is cut: of half a secret nobody could tell what it is."""
    return cut(masked_line(text), ERROR_CHARS)


def _known_error(run: RoutineRun) -> str:
    """Without a query: who has no error at hand has none to tell of."""
    return str(run.__dict__.get("error", ""))


def _log(level: int, kind: str, facts: dict[str, Any]) -> None:
    text = "%s: %s run %s (attempt %s) %s"
    which = (facts["routine"], kind, facts["run_id"], facts.get("attempt", 0))
    why = ": ".join(filter(None, (facts["reason"], cut(facts.get("error", ""), LINE_CHARS))))
    logger.log(level, text, *which, why, extra={"routine_event": {"event": kind, **facts}})


for _signal, (_kind, _level, _sender) in _EVENTS.items():
    _signal.connect(mirror, sender=_sender, dispatch_uid=f"{signals.OWN}{_kind}")
