"""Pausing a routine."""

from __future__ import annotations

from datetime import datetime

from routines_app.core.errors import InvalidValue
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.held import hold_runs
from routines_app.protocol.plan.planning import replan
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.editing import Edit, editing, refuse_move


def pause_routine(routine: RoutineRef, *, until: datetime | None = None, reason: str = "", actor: str = "") -> Routine:
    """Keep a routine from firing, for good or until a time. Running runs finish, PENDING ones are held.

    Pausing a paused routine changes its end and its reason.
    """
    until = None if until is None else moment("until", until)
    with editing(routine, actor=actor, reason=reason) as edit:
        if edit.routine.status != RoutineStatus.PAUSED:
            refuse_move(edit.routine, RoutineStatus.PAUSED, "pause", "ACTIVE or PAUSED")
        if until is not None and until <= edit.now:
            raise InvalidValue("until", until, f"give a time in the future (now it is {edit.now})")
        _pause(edit, until)
    return edit.routine


def _pause(edit: Edit, until: datetime | None) -> None:
    routine = edit.routine
    before = {"status": routine.status, "paused_until": routine.paused_until}
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.PAUSED, until, edit.reason
    edit.save_routine("status", "paused_until", "pause_reason")
    replan(routine, edit.state, edit.now)
    edit.save_state()
    hold_runs(routine)
    edit.record(ChangeKind.PAUSED, before=before, after={"status": routine.status, "paused_until": until})
