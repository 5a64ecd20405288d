"""What is left behind when a plan moves on: an edit, a reset or the archive takes slots away that were still owed.

The whole move of a schedule is one call here: what the old plan owed is accounted for, the change is made, and the
slots from now on are planned. Call it with the state locked; the caller saves the state afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from routines_app.core.holding import HELD_AS
from routines_app.core.words import Reason
from routines_app.models import Routine, RoutineState
from routines_app.protocol.plan.hints import plan_anew
from routines_app.protocol.plan.planning import fault_of, fingerprint_of, replan
from routines_app.protocol.plan.unfired import last_after_skipping, skip_passed_over, skip_planned, skip_unfired


def change_plan(
    routine: Routine, state: RoutineState, now: datetime, why: Reason, change: Callable[[], object]
) -> None:
    """Leave the old plan behind, make the change, and plan by what the routine is then.

    `why` the slots that were owed will not fire; what kept them from firing so far counts first.
    """
    _leave_behind(routine, state, now, why)
    change()
    plan_anew(routine, state, now, changed=True)


def plan_unless_due(routine: Routine, state: RoutineState, now: datetime) -> bool:
    """Plan anew by the same trigger; False when a slot is due: it stays due, the claim fires it and plans the next."""
    if state.next_slot is not None and state.next_slot <= now:
        return False
    plan_anew(routine, state, now)
    return True


def end_plan(routine: Routine, state: RoutineState, now: datetime, change: Callable[[], object]) -> None:
    """The last move: leave the plan behind and archive the routine by `change`; nothing is planned any more."""
    _leave_behind(routine, state, now, Reason.ARCHIVED)
    change()
    state.set_slot(None, None)
    state.release_policy, state.release_until = "", None
    replan(routine, state, now)


def _leave_behind(routine: Routine, state: RoutineState, now: datetime, why: Reason) -> None:
    """Account for every slot up to now that the plan still owed."""
    reason = HELD_AS.get(routine.status, why)
    if is_unknown(routine, state, now):
        skip_planned(routine, state, now, reason, now)
        return
    while skip_unfired(routine, state, now, reason, now):
        pass
    skip_passed_over(routine, state, now)


def last_left_behind(routine: Routine, state: RoutineState, now: datetime) -> datetime | None:
    """The last slot as leaving the plan would leave it, for those who only want to know what an edit will do."""
    if state.next_slot is None or state.next_slot > now:
        return state.last_slot
    return state.next_slot if is_unknown(routine, state, now) else last_after_skipping(routine, state, now)


def is_unknown(routine: Routine, state: RoutineState, now: datetime) -> bool:
    """Changed by plain SQL, or not computable (any more): only the planned slot is known to be owed.

    Mending such a routine and archiving it must work.
    """
    return state.fingerprint != fingerprint_of(routine) or fault_of(routine, state, now) is not None
