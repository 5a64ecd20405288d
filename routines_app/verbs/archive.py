"""Archiving a routine."""

from __future__ import annotations

from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import ChangeKind, Routine, RoutineRun
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.leaving import end_plan
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import Edit, editing, refuse_move


def archive_routine(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Retire a routine for good: nothing is planned any more, PENDING runs are cancelled, RUNNING ones finish."""
    with editing(routine, actor=actor, reason=reason) as edit:
        refuse_move(edit.routine, RoutineStatus.ARCHIVED, "archive", "not ARCHIVED already")
        before = {"status": edit.routine.status}
        end_plan(edit.routine, edit.state, edit.now, lambda: _archive(edit))
        edit.save_state()
        _cancel_pending(edit)
        edit.record(ChangeKind.ARCHIVED, before=before, after={"status": edit.routine.status})
    return edit.routine


def _archive(edit: Edit) -> None:
    routine = edit.routine
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.ARCHIVED, None, ""
    edit.save_routine("status", "paused_until", "pause_reason")


def _cancel_pending(edit: Edit) -> None:
    pending = RoutineRun.objects.using(ledger_alias()).filter(routine_id=edit.routine.pk, status=RunStatus.PENDING)
    ids = list(pending.order_by("id").values_list("pk", flat=True))
    end_pending(edit.routine.pk, ids, Reason.ARCHIVED, edit.now)
