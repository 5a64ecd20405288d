"""Bringing a parked routine back."""

from __future__ import annotations

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.plan.held import release_held_runs
from routines_app.protocol.plan.leaving import change_plan, plan_unless_due
from routines_app.protocol.plan.unfired import skip_passed_over
from routines_app.protocol.rotate.left_out import bring_back
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import Edit, editing


def reset_routine(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """A PARKED routine becomes ACTIVE and is planned from now on; the failures of a failing ACTIVE one are forgotten.

    Of any other there is nothing to reset, and it is refused.
    """
    with editing(routine, actor=actor, reason=reason) as edit:
        _refuse_sound(edit)
        _reset(edit)
    return edit.routine


def _refuse_sound(edit: Edit) -> None:
    status = edit.routine.status
    is_failing = status == RoutineStatus.ACTIVE and edit.state.failure_count > 0
    if status != RoutineStatus.PARKED and not is_failing:
        raise NotAllowed(
            "status", status, said("it is not parked: reset needs a PARKED routine, or a failing ACTIVE one")
        )


def _reset(edit: Edit) -> None:
    routine, state = edit.routine, edit.state
    before = {"status": routine.status, "pause_reason": routine.pause_reason, "failure_count": state.failure_count}
    state.failure_count = 0
    if routine.status == RoutineStatus.PARKED:
        change_plan(routine, state, edit.now, Reason.PARKED, lambda: _wake(edit))
        if routine.rotation_id is not None:
            bring_back([routine.pk])
    else:  # a slot that is due stays due: the claim fires it and plans the next without back-off
        plan_unless_due(routine, state, edit.now)
    edit.save_state()
    edit.record(ChangeKind.RESET, before=before, after={"status": routine.status, "failure_count": 0})


def _wake(edit: Edit) -> None:
    routine = edit.routine
    routine.status, routine.pause_reason = RoutineStatus.ACTIVE, ""
    edit.save_routine("status", "pause_reason")
    release_held_runs([routine.pk], edit.now)
    # Only after an edit by plain SQL are there any left: slots of the new cron that nobody has planned.
    skip_passed_over(routine, edit.state, edit.now)
