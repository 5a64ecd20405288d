"""Bringing a parked routine back."""

from __future__ import annotations

from routines_app.core.errors import NotAllowed
from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.held import release_held_runs
from routines_app.protocol.plan.pause import leave_behind, plan_slots
from routines_app.protocol.plan.unfired import skip_passed_over
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import Edit, editing


def reset_routine(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Forget the failures of a routine; a PARKED one becomes ACTIVE and is planned from now on."""
    with editing(routine, actor=actor, reason=reason) as edit:
        if edit.routine.status not in (RoutineStatus.PARKED, RoutineStatus.ACTIVE):
            raise NotAllowed("status", edit.routine.status, "reset needs a PARKED (or a failing ACTIVE) routine")
        _reset(edit)
    return edit.routine


def _reset(edit: Edit) -> None:
    routine, state = edit.routine, edit.state
    before = {"status": routine.status, "pause_reason": routine.pause_reason, "failure_count": state.failure_count}
    state.failure_count = 0
    if routine.status == RoutineStatus.PARKED:
        leave_behind(routine, state, edit.now, Reason.PARKED)
        routine.status, routine.pause_reason = RoutineStatus.ACTIVE, ""
        edit.save_routine("status", "pause_reason")
        release_held_runs(routine, edit.now)
    # A due slot of an ACTIVE routine stays due: the claim fires it and plans the next without back-off.
    if state.next_slot is None or state.next_slot > edit.now:
        skip_passed_over(routine, state, edit.now)
        plan_slots(routine, state, edit.now)
    edit.save_state()
    edit.record(ChangeKind.RESET, before=before, after={"status": routine.status, "failure_count": 0})
