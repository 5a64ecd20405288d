"""The routine as it was at a moment: its schedule and its status, walked back through its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from routines_app.core.errors import RoutineError
from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    OnceTrigger,
    Trigger,
    next_slot,
)
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import ChangeKind, Routine, ScheduleChange
from routines_app.protocol.plan.planning import grid_of

FIELDS = ("trigger_kind", "cron", "interval_ms", "once_at", "timezone", "start_at", "end_at", "rotation")
STATUS_OF = {
    ChangeKind.PAUSED: RoutineStatus.PAUSED,
    ChangeKind.PARKED: RoutineStatus.PARKED,
    ChangeKind.ARCHIVED: RoutineStatus.ARCHIVED,
    ChangeKind.RESUMED: RoutineStatus.ACTIVE,
    ChangeKind.RESET: RoutineStatus.ACTIVE,
    ChangeKind.CREATED: RoutineStatus.ACTIVE,
}


@dataclass(frozen=True, kw_only=True)
class Then:
    """What held at a moment."""

    fields: dict[str, Any] | None
    """The schedule's; None: it was edited by plain SQL since, and nobody wrote down what it was."""
    edit: ScheduleChange | None
    """The last change of the schedule before the moment."""
    later_edit: ScheduleChange | None
    """The first one after it."""
    held: ScheduleChange | None
    """What had paused, parked or archived the routine; None: it was ACTIVE, as far as its history says."""


def as_it_was(routine: Routine, changes: Sequence[ScheduleChange], at: datetime) -> Then:
    """`changes`: the history, newest first."""
    edits = [change for change in changes if _edits(change)]
    later = [change for change in edits if change.at > at]
    held = next((change for change in changes if change.at <= at and change.kind in STATUS_OF), None)
    return Then(
        fields=_back_through({field: _stored(routine, field) for field in FIELDS}, later),
        edit=next((change for change in edits if change.at <= at), None),
        later_edit=later[-1] if later else None,
        held=held if held is not None and _holds(held, at) else None,
    )


def _holds(change: ScheduleChange, at: datetime) -> bool:
    """Whether the routine was held by it at that moment. A pause with an end is over then, seen by a beat or not."""
    until = _moment(_dict(change.after).get("paused_until"))
    return STATUS_OF[ChangeKind(change.kind)] is not RoutineStatus.ACTIVE and (until is None or until > at)


def before(fields: dict[str, Any], edit: ScheduleChange) -> dict[str, Any] | None:
    """The schedule's fields before that change."""
    return _back_through(fields, [edit])


def slot_in(routine: Routine, fields: dict[str, Any], since: datetime, until: datetime) -> datetime | None:
    """The first slot in `[since, until)` by these fields; None also where they cannot be read."""
    try:
        found = next_slot(trigger_by(routine, fields), since - INSTANT)
    except (RoutineError, ValueError, TypeError, OverflowError, KeyError):
        return None
    return found if found is not None and found < until else None


def trigger_by(routine: Routine, fields: dict[str, Any]) -> Trigger:
    bounds = {name: _moment(fields[name]) for name in ("start_at", "end_at")}
    once_at = _moment(fields["once_at"])
    match fields["trigger_kind"]:
        case TriggerKind.CRON:
            return CronTrigger(expression=fields["cron"], timezone=fields["timezone"], **bounds)
        case TriggerKind.ONCE if once_at is not None:
            return OnceTrigger(at=once_at, **bounds)
        case TriggerKind.INTERVAL if fields["interval_ms"] == routine.interval_ms and hasattr(routine, "state"):
            grid = grid_of(routine, routine.state)
            return IntervalTrigger(interval_ms=fields["interval_ms"], anchor=grid, **bounds)
    return ManualTrigger()  # also an interval of other days: where its grid began, nobody wrote down


def _edits(change: ScheduleChange) -> bool:
    said = {**_dict(change.before), **_dict(change.after)}
    return change.kind != ChangeKind.CREATED and any(field in said for field in FIELDS)


def _back_through(fields: dict[str, Any], changes: Sequence[ScheduleChange]) -> dict[str, Any] | None:
    for change in changes:
        replaced = {name: value for name, value in _dict(change.before).items() if name in FIELDS}
        if not replaced:
            return None
        fields = fields | replaced
    return fields


def _stored(routine: Routine, field: str) -> Any:
    return routine.rotation_id if field == "rotation" else getattr(routine, field)


def _moment(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
