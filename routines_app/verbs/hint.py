"""Hints: temporary, expiring, reasoned changes of a schedule. The plan follows at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.leaving import plan_unless_due
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import SECOND, YEAR, Duration, moment
from routines_app.verbs.checking.validation import INTERVAL
from routines_app.verbs.editing import Edit, editing, refuse_archived

TTL = Duration(least=SECOND, most=YEAR)
HINT_FIELDS = ("hint_interval_ms", "hint_next_at", "hint_expires_at", "hint_reason")


def propose_interval(routine: RoutineRef, interval: Any, *, ttl: Any, reason: str = "", actor: str = "") -> Routine:
    """For `ttl`, fire every `interval` instead of what the trigger says."""
    return _propose(routine, {"hint_interval_ms": INTERVAL("interval", interval)}, ttl, reason, actor)


def propose_next_time(routine: RoutineRef, at: datetime, *, ttl: Any, reason: str = "", actor: str = "") -> Routine:
    """Fire once more at `at`, unless the schedule does so earlier. The hint is gone once used, or after `ttl`."""
    return _propose(routine, {"hint_next_at": moment("at", at)}, ttl, reason, actor)


def clear_hints(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Forget the hints of a routine; the plan is the trigger's own again."""
    cleared = {"hint_interval_ms": None, "hint_next_at": None, "hint_expires_at": None, "hint_reason": ""}
    with editing(routine, actor=actor, reason=reason) as edit:
        _change(edit, cleared, ChangeKind.HINTS_CLEARED)
    return edit.routine


def _propose(routine: RoutineRef, hint: dict[str, Any], ttl: Any, reason: str, actor: str) -> Routine:
    ttl_ms = TTL("ttl", ttl)
    with editing(routine, actor=actor, reason=reason) as edit:
        refuse_archived(edit.routine, "takes no hints")
        expires_at = edit.now + timedelta(milliseconds=ttl_ms)
        _refuse_too_late(hint, expires_at)
        _change(edit, hint | {"hint_expires_at": expires_at, "hint_reason": edit.reason}, ChangeKind.HINTED)
    return edit.routine


def _refuse_too_late(hint: dict[str, Any], expires_at: datetime) -> None:
    at = hint.get("hint_next_at")
    if at is not None and at >= expires_at:
        raise InvalidValue("at", at, f"give a time before the hint expires ({expires_at}), or a longer ttl")


def _change(edit: Edit, values: dict[str, Any], kind: ChangeKind) -> None:
    state = edit.state
    before = {field: getattr(state, field) for field in HINT_FIELDS}
    for field, value in values.items():
        setattr(state, field, value)
    # A slot that is due stays due: the claim fires it and plans the next one with the hints as they are then.
    plan_unless_due(edit.routine, state, edit.now)
    edit.save_state()
    edit.record(kind, before=before, after=values)
