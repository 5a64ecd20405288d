"""Triggers of stored routines, and those that a schedule would have that nobody has saved yet. Nothing is written."""

from __future__ import annotations

from copy import copy
from datetime import datetime

from routines_app.core.triggers import Trigger
from routines_app.core.words import TriggerKind
from routines_app.models import Routine, RoutineState
from routines_app.protocol.plan import planning
from routines_app.protocol.plan.leaving import last_left_behind
from routines_app.verbs.update import GRID_FIELDS, counted_from


def stored_trigger(routine: Routine) -> Trigger:
    """The routine's trigger as it is stored; an interval counts on from its anchor."""
    return planning.trigger_of(routine, routine.state)


def drafted_trigger(
    saved: Routine | None,
    *,
    kind: TriggerKind,
    cron: str = "",
    interval_ms: int | None = None,
    once_at: datetime | None = None,
    timezone: str,
    start_at: datetime | None,
    end_at: datetime | None,
    now: datetime,
) -> Trigger:
    """The trigger that saving this schedule would leave: in the saved routine, or in a new one.

    The values are checked already. An interval is counted from the anchor that saving would leave: an edit skips
    what is owed, and may forget the last slot.
    """
    bounds = {"timezone": timezone, "start_at": start_at, "end_at": end_at}
    schedule = {"trigger_kind": kind, "cron": cron, "interval_ms": interval_ms, "once_at": once_at, **bounds}
    draft = Routine(created_at=now if saved is None else saved.created_at, **schedule)
    return planning.trigger_of(draft, RoutineState() if saved is None else _state_after(draft, saved, now))


def _state_after(draft: Routine, saved: Routine, now: datetime) -> RoutineState:
    state = copy(saved.state)
    as_saved = all(
        getattr(draft, field) == getattr(saved, field) for field in ("interval_ms", "start_at", "end_at", "timezone")
    )
    if draft.trigger_kind == TriggerKind.INTERVAL and not as_saved:
        state.last_slot = last_left_behind(saved, saved.state, now)
        moved = any(getattr(draft, field) != getattr(saved, field) for field in GRID_FIELDS)
        state.last_slot, state.grid_from = counted_from(draft, state, moved=moved)
    return state
