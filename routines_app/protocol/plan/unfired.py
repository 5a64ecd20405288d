"""Slots that will not fire any more: a pause, an edit or the archive left them behind.

Every occurrence of a schedule is accounted for. Whoever moves a plan past slots that have no row writes them here as
SKIPPED rows that say why. What counts as a slot is the claim's own decision, asked with a rule that keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import NamedTuple

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_firing, withdraw_oneshot
from routines_app.core.owed import Due
from routines_app.core.triggers import CronTrigger, Span, count_between
from routines_app.core.words import (
    CatchUpPolicy,
    HintKind,
    Reason,
    RoutineStatus,
    RunStatus,
    RunTrigger,
    Source,
)
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import anchor_of, awake_plan_state, plan_state, slot_source_of
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.slot_keys import keys_of_many

KEEP_NOTHING = CatchUp(policy=CatchUpPolicy.SKIP, grace_ms=-1)  # a slot at that very moment is gone as well


class Left(NamedTuple):
    """Slots that a plan has left behind, and why: one SKIPPED row."""

    span: Span
    reason: Reason = Reason.SUPERSEDED
    source: Source | None = None


def unfired(routine: Routine, state: RoutineState, until: datetime) -> Span | None:
    """The slots up to `until` that nobody has fired or skipped, without those that a hint or a clamp went past."""
    firing = _left_over(routine, state, until)
    spans = (
        [] if firing is None else [each.span for each in _left(firing, Reason.PAUSED) if each.reason is Reason.PAUSED]
    )
    if not spans:
        return None
    return Span(first=spans[0].first, last=spans[-1].last, count=sum(span.count for span in spans))


def skip_unfired(routine: Routine, state: RoutineState, until: datetime, reason: Reason, now: datetime) -> bool:
    """Write the unfired slots up to `until` as SKIPPED and move the state past them; whether there were any.

    The caller has locked the state, and saves it. The moment of a hint stands alone: when slots follow it,
    `state.next_slot` is still not later than `until` afterwards.
    """
    left = leave_unfired(routine, state, until, reason)
    write_left([(routine, state, left)], now)
    return bool(left)


def leave_unfired(routine: Routine, state: RoutineState, until: datetime, reason: Reason) -> list[Left]:
    """The same without writing: the rows say why those slots were planned."""
    source = None if state.next_slot is None or state.next_slot > until else slot_source_of(routine, state)
    return [each._replace(source=source) for each in move_past_unfired(routine, state, until, reason)]


def move_past_unfired(routine: Routine, state: RoutineState, until: datetime, reason: Reason) -> list[Left]:
    """Move the state past the unfired slots up to `until`; the caller writes them, or only wants to know."""
    firing = _left_over(routine, state, until)
    if firing is None:
        return []
    _move_past(firing, state)
    return _left(firing, reason)


def last_after_skipping(routine: Routine, state: RoutineState, until: datetime) -> datetime | None:
    """The last slot as it would be if the unfired ones up to `until` were skipped. Nothing is changed."""
    state = copy(state)
    while (firing := _left_over(routine, state, until)) is not None:
        _move_past(firing, state)
    return state.last_slot


def _move_past(firing: Firing, state: RoutineState) -> None:
    state.last_slot, state.clamps_from = firing.last_slot, firing.clamps_from
    state.set_slot(firing.next_slot, firing.slot_source)
    if firing.uses_up_oneshot:
        state.drop_hint(HintKind.NEXT)


def skip_passed_over(routine: Routine, state: RoutineState, until: datetime, now: datetime | None = None) -> None:
    """Write all cron slots up to `until` that a hint or a clamp went past, in one row: a new plan starts after it."""
    span = pass_over(routine, state, until)
    if span is not None:
        write_left([(routine, state, [Left(span)])], now or until)


def pass_over(routine: Routine, state: RoutineState, until: datetime) -> Span | None:
    """Move the state past the cron slots up to `until` that a hint or a clamp went past; the caller writes them."""
    trigger = plan_state(routine, state).trigger
    if not isinstance(trigger, CronTrigger) or state.last_slot is None:
        return None
    span = count_between(trigger, state.last_slot, until)
    if span is not None:
        state.last_slot = span.last
    return span


def withdraw(routine: Routine, state: RoutineState, reason: Reason, now: datetime) -> list[Left]:
    """Take back the one-shot that is planned and due; the state goes on without it, and the caller writes its row.

    Its hint is still there: the caller drops it.
    """
    assert state.next_slot is not None  # nosec B101 # it is due
    due = Due(
        plan=awake_plan_state(routine, state),
        rule=KEEP_NOTHING,
        last_slot=anchor_of(routine, state),
        next_slot=state.next_slot,
        source=Source.HINT_ONESHOT,
    )
    firing = withdraw_oneshot(due, now, reason)
    _move_past(firing, state)
    if routine.status == RoutineStatus.ACTIVE and state.next_source != Source.CATCHING_UP:
        state.next_run_at, state.next_source = firing.next_run_at, firing.source
    own = Source.HINT_ONESHOT
    return [Left(left.span, left.reason, own if left.reason is reason else None) for left in firing.skipped]


def write_left(found: Sequence[tuple[Routine, RoutineState, Sequence[Left]]], now: datetime) -> None:
    """Write what many routines have left behind, with the states as they are planned by now."""
    rows: list[tuple[Routine, Left, datetime | None]] = []
    for routine, state, left in found:
        ordered = sorted(left, key=lambda each: each.span.first)
        following = [*(each.span.first for each in ordered), state.next_slot][1:]  # without any, nothing follows one
        rows += [(routine, each, planned) for each, planned in zip(ordered, following, strict=True)]
    if not rows:
        return
    keys = keys_of_many([(routine.pk, each.span.first) for routine, each, _ in rows])
    _insert(
        [
            _skipped(routine, each.span, key, planned, each.reason, now, each.source)
            for (routine, each, planned), key in zip(rows, keys, strict=True)
        ]
    )


def skip_planned(routine: Routine, state: RoutineState, until: datetime, reason: Reason, now: datetime) -> None:
    """Write the one slot up to `until` that is known to be owed, when the schedule behind it is not known any more."""
    left = [Left(span, reason) for span in move_past_planned(state, until)]
    write_left([(routine, state, left)], now)


def move_past_planned(state: RoutineState, until: datetime) -> list[Span]:
    """Move the state past the planned slot, if that is not later than `until`; the caller writes it."""
    slot = state.next_slot
    if slot is None or slot > until:
        return []
    state.last_slot = slot
    state.set_slot(None, None)
    return [Span(first=slot, last=slot, count=1)]


def _left_over(routine: Routine, state: RoutineState, until: datetime) -> Firing | None:
    if state.next_slot is None or state.next_slot > until:
        return None
    due = Due(
        plan=awake_plan_state(routine, state),
        rule=KEEP_NOTHING,
        last_slot=anchor_of(routine, state),
        next_slot=state.next_slot,
        source=slot_source_of(routine, state),
    )
    return decide_firing(due, until)


def _left(firing: Firing, reason: Reason) -> list[Left]:
    """What a hint or a clamp went past was not kept from firing by anything else: nobody had planned it."""
    left = [Left(Span(first=fire.slot, last=fire.slot, count=1), reason) for fire in firing.fire]
    left += [Left(each.span, each.reason if each.reason is Reason.SUPERSEDED else reason) for each in firing.skipped]
    return sorted(left, key=lambda each: each.span.first)


def _insert(runs: list[RoutineRun]) -> None:
    if runs:
        RoutineRun.objects.using(ledger_alias()).bulk_create(runs, ignore_conflicts=True)
        tell(runs)


def _skipped(
    routine: Routine,
    span: Span,
    key: str,
    next_planned: datetime | None,
    reason: Reason,
    now: datetime,
    source: Source | None,
) -> RoutineRun:
    return RoutineRun.of(
        routine,
        status=RunStatus.SKIPPED.value,
        reason=reason,
        trigger=RunTrigger.SCHEDULE,
        source="" if source is None else source.value,
        scheduled_for=span.first,
        scheduled_until=span.last if span.count > 1 else None,
        occurrences=span.count,
        next_planned_for=next_planned,
        eligible_at=span.first,
        completed_at=now,
        idempotency_key=key,
    )
