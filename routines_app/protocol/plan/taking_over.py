"""From an old scheduler to us, and back: a routine leaves shadow, and fires every slot after the old one's last fire.

In shadow a row stands for each slot that an old scheduler has fired, or should have. The rows of those that it has not
are taken out of the ledger again and their slots planned, so that each is fired once and has the one row of its fire.
An interval goes on from the old one's last fire: between that and our first there is one interval, as there always was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from routines_app.core.governor import plan_next
from routines_app.core.keys import epoch_ms, uuid7_int
from routines_app.core.shadow import goes_on_from, stands_until
from routines_app.core.triggers import INSTANT, IntervalTrigger, Trigger
from routines_app.core.words import CatchUpPolicy, Reason, RunStatus, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.end_of_pause import leave_to_claim
from routines_app.protocol.plan.planning import fingerprint_of, plan_state, trigger_of
from routines_app.protocol.plan.unfired import skip_unfired

MOST_TAKEN_BACK = 1_000  # rows of one routine; where there are more, the old one has not fired for long
AT_ONCE = 1_000  # rows in a statement: SQLite takes a bounded number of values
IDS_EARLIER = timedelta(days=1)  # a row is written after its slot, and its id says when; machines' clocks differ
AROUND = timedelta(seconds=60)  # before the old entry was disabled: its slots were under way then


def unfired_rows(routine_id: int, after: datetime) -> list[tuple[UUID, datetime]]:
    """The rows of slots after that moment that nobody has fired, the newest first.

    Those that our beats came to too late are among them: the old one might have fired them all the same. The moment of
    a hint is not: the hint is used up, and no plan would come to it again.
    """
    rows = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id=routine_id,
        id__gte=UUID(int=uuid7_int(max(0, epoch_ms(after - IDS_EARLIER)), 0)),
        status=RunStatus.SKIPPED,
        reason__in=(Reason.SHADOW, Reason.MISFIRE),
        scheduled_for__gt=after,
    )
    rows = rows.exclude(source=Source.HINT_ONESHOT).order_by("-id")
    return list(rows.values_list("id", "scheduled_for")[: MOST_TAKEN_BACK + 1])


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
    _leave_to_the_old_one(routine, state, after, now)
    rows = unfired_rows(routine.pk, after)
    if len(rows) > MOST_TAKEN_BACK:
        _, goes_on = rows.pop()
        after = goes_on
    if not isinstance(trigger, IntervalTrigger):
        after = goes_on = max(goes_on, _planned_since(state, rows) or goes_on)
    if last_fire is not None and _counts_from_fires(trigger, goes_on):
        state.grid_from = goes_on
    _plan_from(routine, state, goes_on)
    if state.next_slot is not None and state.next_slot > disabled_at - AROUND:
        leave_to_claim(routine, state, now, now, CatchUpPolicy.ALL)
    return TakenOver(after, [run_id for run_id, _ in rows])


def leave_fired(
    routine: Routine, state: RoutineState, now: datetime, *, last_fire: datetime | None, moved_at: datetime
) -> None:
    """Of a routine that is paused: slots that the old one has fired all the same are not left for the pause's end."""
    if last_fire is not None:
        trigger = trigger_of(routine, state)
        until = stands_until(trigger, goes_on_from(trigger, last_fire, moved_at))
        _leave_to_the_old_one(routine, state, until, now)


def _leave_to_the_old_one(routine: Routine, state: RoutineState, until: datetime, now: datetime) -> None:
    while state.next_slot is not None and state.next_slot <= until:
        if not skip_unfired(routine, state, until, Reason.SHADOW, now):
            break


def _planned_since(state: RoutineState, rows: Sequence[tuple[UUID, datetime]]) -> datetime | None:
    """After which moment our own plan has slots without a fire. The old one's last may be from long before an edit,
    and the slots that the new schedule would have had until then are nobody's."""
    return min(slot for _, slot in rows) - INSTANT if rows else state.last_slot


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


def forget_rows(run_ids: Sequence[UUID]) -> None:
    """Take these out of the ledger: their slots are planned again."""
    alias = ledger_alias()
    for start in range(0, len(run_ids), AT_ONCE):
        RoutineRun.objects.using(alias).filter(id__in=run_ids[start : start + AT_ONCE])._raw_delete(alias)
