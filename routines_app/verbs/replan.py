"""Planning anew after routines were changed by plain SQL or `.update()`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from django.db import Error
from django.db.models import Q

from routines_app.core.holding import HELD_SINCE
from routines_app.core.words import Reason, RoutineStatus, Source, TriggerKind
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.plan.held import release_held_runs
from routines_app.protocol.plan.leaving import change_plan, plan_unless_due
from routines_app.protocol.plan.planning import fingerprint_of, is_edited_outside, schedule_found
from routines_app.protocol.record.changes import BEAT
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import Edit, editing

_said = SaidOnce(logging.getLogger(__name__))

READ_AT_ONCE = 1_000


def replan_changed(*, force: bool = False, progress: Callable[[int], None] | None = None) -> int:
    """Replan every routine whose schedule is not the one it was planned by (with `force`: every one); how many."""
    routines = Routine.objects.using(ledger_alias()).exclude(status=RoutineStatus.ARCHIVED).select_related("state")
    replanned = 0
    for routine in routines.order_by("pk").iterator(chunk_size=READ_AT_ONCE):
        if force or not hasattr(routine, "state") or routine.state.fingerprint != fingerprint_of(routine):
            replan_routine(routine.pk)
            replanned += 1
            if progress is not None:
                progress(replanned)
    return replanned


class Repaired(NamedTuple):
    """What one look for forgotten routines did."""

    planned: int
    left: int
    """For the next look: somebody holds them, or they cannot be planned."""


def replan_forgotten() -> Repaired:
    """Plan ACTIVE routines that nobody would ever look at: created, or woken up, behind the service's back."""
    asleep = Q(state__next_run_at=None)
    for_a_status = Q(state__next_source__in=[Source.ARCHIVED, *HELD_SINCE])
    for_no_trigger = Q(state__next_source=Source.MANUAL) & ~Q(trigger_kind=TriggerKind.MANUAL)
    forgotten = (
        Routine.objects.using(ledger_alias())
        .filter(Q(state=None) | asleep & (for_a_status | for_no_trigger), status=RoutineStatus.ACTIVE)
        .values_list("pk", flat=True)[:READ_AT_ONCE]
    )
    with bounded():
        found = list(forgotten)
    planned = [_plan_forgotten(routine_id) for routine_id in found]
    return Repaired(planned=planned.count(True), left=planned.count(None))


def _plan_forgotten(routine_id: int) -> bool | None:
    """Whether there was anything to do. None: it is left for the next look, and the others get their plans."""
    try:
        with bounded(lock_ms=QUICK_LOCK_MS), editing(routine_id, actor=BEAT, reason="it had no plan") as edit:
            done = _replan(edit)
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        _said.warn(routine_id, f"routine {routine_id} has no plan, and could not get one now: {error!r}")
        return None
    _said.over(routine_id)
    return done


def replan_routine(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Plan a routine from now on, by the schedule as it is stored."""
    with editing(routine, actor=actor, reason=reason) as edit:
        _replan(edit)
    return edit.routine


def _replan(edit: Edit) -> bool:
    """Whether there was anything to do."""
    routine, state = edit.routine, edit.state
    before, is_edited = {"next_slot": state.next_slot}, is_edited_outside(routine, state)
    if _was_woken_by_hand(edit):
        slept = HELD_SINCE[Source(state.next_source)]
        change_plan(routine, state, edit.now, slept, lambda: release_held_runs([routine.pk], edit.now))
    elif state.fingerprint != fingerprint_of(routine):
        change_plan(routine, state, edit.now, Reason.SUPERSEDED, lambda: None)  # it was changed already
    elif not plan_unless_due(routine, state, edit.now):
        return False  # the plan is right, a slot is due: the claim fires it, or the chain before it is still going on
    edit.save_state()
    found = schedule_found(routine) if is_edited else {}
    edit.record(ChangeKind.REPLANNED, before=before, after={"next_slot": state.next_slot, **found})
    return True


def _was_woken_by_hand(edit: Edit) -> bool:
    """ACTIVE, but planned as if it still slept: somebody changed the status by plain SQL, and no beat will look at it.

    The slots since then are accounted for like those of a pause.
    """
    asleep = edit.state.next_run_at is None and edit.state.next_source in HELD_SINCE
    return asleep and edit.routine.status == RoutineStatus.ACTIVE
