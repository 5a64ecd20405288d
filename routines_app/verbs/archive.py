"""Archiving a routine."""

from __future__ import annotations

from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.leaving import end_plan
from routines_app.protocol.upkeep.archived import cancel_waiting
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import Edit, editing, refuse_move


def archive_routine(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Retire a routine for good: nothing is planned any more, PENDING runs are cancelled, RUNNING ones finish.

    Of very many PENDING runs the beats cancel the rest, within seconds; none of them starts any more.
    """
    with editing(routine, actor=actor, reason=reason) as edit:
        refuse_move(edit.routine, RoutineStatus.ARCHIVED, said("archive needs a routine that is not ARCHIVED already"))
        before = {"status": edit.routine.status}
        if edit.routine.pause_reason:  # for code that brings it back
            before["pause_reason"] = edit.routine.pause_reason
        end_plan(edit.routine, edit.state, edit.now, lambda: _archive(edit))
        edit.save_state()
        cancel_waiting(edit.routine.pk, edit.now)
        edit.record(ChangeKind.ARCHIVED, before=before, after={"status": edit.routine.status})
    return edit.routine


def _archive(edit: Edit) -> None:
    routine = edit.routine
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.ARCHIVED, None, ""
    routine.pause_batch = None
    edit.save_routine("status", "paused_until", "pause_reason", "pause_batch")
