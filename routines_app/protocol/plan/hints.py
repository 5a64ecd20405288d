"""Hints on a state: a proposal, and the end of those whose time is over. The state is locked, and the caller saves it.

A proposal moves the plan only earlier at once; a slower pace takes effect from the next slot. Whoever plans drops the
hints that have expired, and the history says what holds from then on (`hint_expired`): none of them comes back when
another one is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from routines_app.core.governor import expired_hints, is_oneshots, plan_next, restarts
from routines_app.core.holding import HELD_AS
from routines_app.core.owed import passed_over
from routines_app.core.triggers import INSTANT
from routines_app.core.words import HintKind, Reason, RoutineStatus, Source
from routines_app.models import HINT_COLUMNS, ChangeKind, Hint, Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import (
    anchor_of,
    awake_plan_state,
    is_edited_outside,
    leave_to_beats,
    plan_slots,
    slot_source_of,
    trigger_of,
    without_past_oneshot,
)
from routines_app.protocol.plan.unfired import Left, pass_over, withdraw, write_left
from routines_app.protocol.record import changes

PACES = frozenset({HintKind.INTERVAL, HintKind.FACTOR})


class Proposed(NamedTuple):
    """What there is to write besides the state."""

    before: dict[str, Any]
    """The hints that were replaced or cleared."""
    expired: dict[str, Any]
    """The hints that were dropped because their time was over."""
    dropped: tuple[HintKind, ...]
    """All kinds that are gone."""
    left: list[Left]
    """What the plan has left behind."""


def plan_anew(routine: Routine, state: RoutineState, now: datetime, *, changed: bool = False) -> None:
    """Plan the slots from now on, write what the plan has gone past, and say in the history what holds now.

    No slot is due. Of a schedule that has `changed`, the caller has accounted for the slots up to now by the old one.
    """
    gone, left = move_plan(routine, state, now, changed=changed)
    write_left([(routine, state, left)], now)
    record_expired([(routine, state, gone)], now)


def move_plan(
    routine: Routine, state: RoutineState, now: datetime, *, changed: bool = False
) -> tuple[dict[str, Any], list[Left]]:
    """The same without writing: the hints that are dropped, by column, and what the plan has gone past.

    Where nothing is planned, nobody would look again to drop the hints that are left, and nothing comes of them.
    """
    gone = drop_expired(routine, state, now)
    left = _plan_past(routine, state, now, changed=changed)
    if is_idle(routine, state, now):
        gone |= _drop(state, HintKind)
    return gone, left


def _plan_past(routine: Routine, state: RoutineState, now: datetime, *, changed: bool = False) -> list[Left]:
    """Plan the slots from now on. Of a cron, what lies before the new anchor is settled, and not more: a hinted pace
    goes on from its old one, and the claim settles what it goes past. Nor what is to come where the schedule has ended:
    who set a clamp or an end by mistake takes it back, and those slots fire."""
    before = None if changed else state.last_slot
    plan_slots(routine, state, now, changed=changed)
    anchor = anchor_of(routine, state)
    passed = passed_over(trigger_of(routine, state), before or anchor, anchor)
    if passed:
        state.last_slot = max(anchor, passed[-1].span.last)
    return [Left(each.span) for each in passed]


def is_idle(routine: Routine, state: RoutineState, now: datetime) -> bool:
    """Whether nothing is planned, and nothing would be if the routine were ACTIVE."""
    if state.next_slot is not None:
        return False
    return plan_next(awake_plan_state(routine, state), now, anchor_of(routine, state)).next_run_at is None


def propose(routine: Routine, state: RoutineState, hint: Hint, now: datetime) -> Proposed:
    """Give the state a hint, and move the plan if that brings it forward. Nothing is written."""
    over = expired_hints(awake_plan_state(routine, state), now)
    left = _withdraw(routine, state, Reason.EXPIRED, now) if HintKind.NEXT in over else []
    left += [] if PACES.isdisjoint(over) else _settle(routine, state, now)
    gone = _drop(state, over)
    before = _columns(state, [hint.kind])
    replaced = bool(before) and _is_withdrawn(routine, state, hint)
    state.give_hint(hint)
    if _is_open(state, now):
        left += _bring_forward(routine, state, now, even_later=replaced)
    return Proposed(before, gone, over, left)


def clear(routine: Routine, state: RoutineState, now: datetime) -> Proposed:
    """Forget all hints and plan what the trigger says from now on. Nothing is written.

    A due slot stays due, unless it is a one-shot's: that one is taken back.
    """
    before = _columns(state, HintKind)
    if is_edited_outside(routine, state):
        _drop(state, HintKind)
        leave_to_beats(state, now)
        return Proposed(before, {}, tuple(HintKind), [])
    expires_at = state.hint_next_expires_at
    is_over = expires_at is None or expires_at <= now
    reason = Reason.EXPIRED if is_over else HELD_AS.get(routine.status, Reason.SUPERSEDED)
    left = _withdraw(routine, state, reason, now)
    is_open = _is_open(state, now)
    if not is_open and state.next_slot is not None:
        # What was gone past before that slot, nobody would know without the hint.
        span = pass_over(routine, state, state.next_slot - INSTANT)
        left += [] if span is None else [Left(span)]
    _drop(state, HintKind)
    if is_open:
        left += _plan_past(routine, state, now)
    return Proposed(before, {}, tuple(HintKind), left)


def _withdraw(routine: Routine, state: RoutineState, reason: Reason, now: datetime) -> list[Left]:
    """A one-shot's moment does not outlive its hint. One that is not due yet is left to whoever plans without it."""
    is_due = state.next_slot is not None and state.next_slot <= now
    return withdraw(routine, state, reason, now) if is_due and _is_oneshots(routine, state) else []


def _is_oneshots(routine: Routine, state: RoutineState) -> bool:
    """Whether the planned moment is there for the one-shot."""
    if state.next_slot is None:
        return False
    plan, anchor = awake_plan_state(routine, state), anchor_of(routine, state)
    return is_oneshots(plan, state.next_slot, slot_source_of(routine, state), anchor)


def _settle(routine: Routine, state: RoutineState, now: datetime) -> list[Left]:
    """What a pace that is over went past is accounted for: without the hint nobody knows that it is not owed."""
    span = pass_over(routine, state, now if state.next_slot is None else min(now, state.next_slot - INSTANT))
    return [] if span is None else [Left(span)]


def _is_withdrawn(routine: Routine, state: RoutineState, hint: Hint) -> bool:
    """Whether the replaced hint chose the planned moment, and the new one takes it back: it is another one-shot, or it
    ends before."""
    if state.next_slot is None:
        return False
    if hint.kind is HintKind.NEXT:
        return _is_oneshots(routine, state)
    hinted = slot_source_of(routine, state) in (Source.HINT_INTERVAL, Source.HINT_FACTOR)
    return hinted and state.next_slot > hint.expires_at


def _is_open(state: RoutineState, now: datetime) -> bool:
    """Whether the plan may be moved: a slot that is due stays due, and so does what is being caught up."""
    return state.next_source != Source.CATCHING_UP and (state.next_slot is None or state.next_slot > now)


def _bring_forward(routine: Routine, state: RoutineState, now: datetime, *, even_later: bool) -> list[Left]:
    plan, anchor = awake_plan_state(routine, state), anchor_of(routine, state)
    if routine.status != RoutineStatus.ACTIVE:
        plan = without_past_oneshot(plan, now)
    at, source = plan_next(plan, now, anchor)
    if not even_later and (at is None or at < now or (state.next_slot is not None and at >= state.next_slot)):
        return []
    span = None
    if source is not Source.HINT_ONESHOT and restarts(plan, now, anchor):
        # The pace counts from now: whoever plans once more must come to the same moment.
        span = pass_over(routine, state, now)
        state.last_slot = now
    state.set_slot(at, source)
    if routine.status == RoutineStatus.ACTIVE:
        state.next_run_at, state.next_source = at, source
    return [] if span is None else [Left(span)]


def drop_expired(routine: Routine, state: RoutineState, now: datetime) -> dict[str, Any]:
    """Drop the hints whose time is over; what they were, by column."""
    return _drop(state, expired_hints(awake_plan_state(routine, state), now))


def _drop(state: RoutineState, kinds: Iterable[HintKind]) -> dict[str, Any]:
    gone = _columns(state, kinds)
    for kind in kinds:
        state.drop_hint(kind)
    return gone


def _columns(state: RoutineState, kinds: Iterable[HintKind]) -> dict[str, Any]:
    """Value and expiry of these hints, by column, where there are any."""
    return {column: value for kind in kinds if (hint := state.hint(kind)) for column, value in told(hint).items()}


def told(hint: Hint) -> dict[str, Any]:
    """What the history holds of a hint; its reason and its author are those of the change."""
    value, expires_at = HINT_COLUMNS[hint.kind][:2]
    return {value: hint.value, expires_at: hint.expires_at}


def record_expired(
    dropped: Iterable[tuple[Routine, RoutineState, dict[str, Any]]], now: datetime, actor: str = changes.BEAT
) -> None:
    """The history says which hints are over and what the plan follows now; nothing where there were none."""
    ends = [
        changes.new(
            ChangeKind.HINT_EXPIRED,
            routine,
            state,
            now,
            actor=actor,
            before=gone,
            after={"next_source": str(state.next_source)},
        )
        for routine, state, gone in dropped
        if gone
    ]
    if ends:
        ScheduleChange.objects.using(ledger_alias()).bulk_create(ends)
