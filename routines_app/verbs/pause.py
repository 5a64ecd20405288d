"""Pausing a routine."""

from __future__ import annotations

from datetime import datetime

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.held import hold_runs
from routines_app.protocol.plan.planning import replan
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.editing import Edit, editing, refuse_move
from routines_app.verbs.resume import resume_routine

NEEDS_ACTIVE = said("pause needs a routine that is ACTIVE or PAUSED")


def pause_routine(
    routine: RoutineRef, *, until: datetime | str | None = None, reason: str = "", actor: str = ""
) -> Routine:
    """Keep a routine from firing, for good or until a time. Running runs finish, PENDING ones are held.

    Pausing a paused routine changes its end and its reason; one that a batch has paused leaves the batch.
    """
    return _pause_until(routine, None if until is None else moment("until", until), "until", reason, actor)


def pause_until(routine: RoutineRef, at: datetime | str | None, *, reason: str = "", actor: str = "") -> Routine:
    """Pause a routine until a time; None resumes it, and its slots of the pause are skipped."""
    if at is None:
        return resume_routine(routine, reason=reason, actor=actor)
    return _pause_until(routine, moment("at", at), "at", reason, actor)


def _pause_until(routine: RoutineRef, until: datetime | None, field: str, reason: str, actor: str) -> Routine:
    with editing(routine, actor=actor, reason=reason) as edit:
        if edit.routine.status != RoutineStatus.PAUSED:
            refuse_move(edit.routine, RoutineStatus.PAUSED, NEEDS_ACTIVE)
        if until is not None and until <= edit.now:
            raise InvalidValue(field, until, said("give a time in the future (now it is {now})", now=edit.now))
        _pause(edit, until)
    return edit.routine


def _pause(edit: Edit, until: datetime | None) -> None:
    routine = edit.routine
    before = {"status": routine.status, "paused_until": routine.paused_until}
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.PAUSED, until, edit.reason
    routine.pause_batch = None  # whatever paused it before, this pause is its own
    edit.save_routine("status", "paused_until", "pause_reason", "pause_batch")
    replan(routine, edit.state, edit.now)
    edit.save_state()
    hold_runs([routine.pk], edit.now)
    edit.record(ChangeKind.PAUSED, before=before, after={"status": routine.status, "paused_until": until})
