"""From an old scheduler to us, and back: a routine leaves shadow, and fires every slot after the old one's last fire.

In shadow a row stands for each slot that an old scheduler has fired, or should have. The rows of those that it has not
are taken out of the ledger again and their slots planned, so that each is fired once and has the one row of its fire.
An interval goes on from the old one's last fire: between that and our first there is one interval, as there always was.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from routines_app.core.governor import plan_next
from routines_app.core.shadow import goes_on_from, stands_until
from routines_app.core.triggers import IntervalTrigger, Trigger
from routines_app.core.words import CatchUpPolicy, Reason, RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.pause import leave_to_claim
from routines_app.protocol.plan.planning import fingerprint_of, plan_state, trigger_of
from routines_app.protocol.plan.unfired import skip_unfired

MOST_TAKEN_BACK = 1_000  # rows of one routine; where there are more, the old one has not fired for long
AROUND = timedelta(seconds=60)  # before the old entry was disabled: its slots were under way then


def unfired_rows(routine_id: int, after: datetime) -> list[tuple[UUID, datetime]]:
    """The rows of shadow slots after that moment, the newest first."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id=routine_id, status=RunStatus.SKIPPED, reason=Reason.SHADOW, scheduled_for__gt=after
    )
    return list(rows.order_by("-id").values_list("id", "scheduled_for")[: MOST_TAKEN_BACK + 1])


class TakenOver(NamedTuple):
    """What came of it."""

    after: datetime
    """Slots up to here are the old one's."""
    unfired: list[UUID]
    """Rows of later slots, which nobody has fired: they are planned again."""


def take_over(
    routine: Routine,
    state: RoutineState,
    now: datetime,
    *,
    last_fire: datetime | None,
    moved_at: datetime,
    disabled_at: datetime,
) -> TakenOver:
    """Plan every slot after the old one's last fire. The state is locked; the caller saves it and forgets the rows.

    Slots that came due while the old one was disabled are fired each, oldest first, whatever the policy says of missed
    ones: nobody has missed them. If there are older ones, nobody has fired for a while, and the policy holds.
    """
    trigger = trigger_of(routine, state)
    goes_on = moved_at if last_fire is None else goes_on_from(trigger, last_fire, moved_at)
    after = goes_on if last_fire is None else stands_until(trigger, goes_on)
    while state.next_slot is not None and state.next_slot <= after:
        if not skip_unfired(routine, state, after, Reason.SHADOW, now):
            break
    rows = unfired_rows(routine.pk, after)
    if len(rows) > MOST_TAKEN_BACK:
        _, goes_on = rows.pop()
        after = goes_on
    if last_fire is not None and _counts_from_fires(trigger, goes_on):
        state.grid_from = goes_on
    _plan_from(routine, state, goes_on)
    if state.next_slot is not None and state.next_slot > disabled_at - AROUND:
        leave_to_claim(routine, state, now, now, CatchUpPolicy.ALL)
    return TakenOver(after, [run_id for run_id, _ in rows])


def _counts_from_fires(trigger: Trigger, last_fire: datetime) -> bool:
    """Whether an interval has begun: before its start, that is what its slots are counted from."""
    if not isinstance(trigger, IntervalTrigger):
        return False
    following = last_fire + timedelta(milliseconds=trigger.interval_ms)
    return trigger.start_at is None or following >= trigger.start_at


def _plan_from(routine: Routine, state: RoutineState, moment: datetime) -> None:
    """As if it were that moment: what comes after it is planned, also if it is past by now."""
    state.last_slot = moment
    if state.clamps_from is not None:
        state.clamps_from = min(state.clamps_from, moment)
    state.fingerprint = fingerprint_of(routine)
    state.release_policy, state.release_until = "", None
    plan = plan_next(plan_state(routine, state), moment, moment)
    state.set_slot(plan.next_run_at, plan.source)
    state.next_run_at, state.next_source = plan.next_run_at, plan.source


def forget_rows(run_ids: Collection[UUID]) -> None:
    """Take these out of the ledger: their slots are planned again."""
    alias = ledger_alias()
    RoutineRun.objects.using(alias).filter(id__in=run_ids)._raw_delete(alias)
