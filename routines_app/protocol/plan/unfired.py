"""Slots that will not fire any more: a pause, an edit or the archive left them behind.

Every occurrence of a schedule is accounted for. Whoever moves a plan past slots that have no row writes them here as
SKIPPED rows that say why. What counts as a slot is the claim's own decision, asked with a rule that keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Due, Firing, decide_firing
from routines_app.core.triggers import INSTANT, CronTrigger, Span, count_between, next_slot
from routines_app.core.words import (
    ASLEEP,
    BASELINE,
    CatchUpPolicy,
    Reason,
    RunStatus,
    RunTrigger,
    Source,
)
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import anchor_of, awake_plan_state, kind_of, plan_state
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.slot_keys import keys_of

OVERWRITTEN = ASLEEP | {Source.PAUSED}
KEEP_NOTHING = CatchUp(policy=CatchUpPolicy.SKIP, grace_ms=0)


def baseline_source(routine: Routine) -> Source:
    """The source of a plan that follows the routine's own trigger; a MANUAL one has slots only by hints."""
    return BASELINE[kind_of(routine)] or Source.HINT_INTERVAL


def unfired(routine: Routine, state: RoutineState, until: datetime) -> Span | None:
    """The slots up to `until` that nobody has fired or skipped."""
    firing = _left_over(routine, state, until)
    spans = [] if firing is None else _spans(firing)
    if not spans:
        return None
    return Span(first=spans[0].first, last=spans[-1].last, count=sum(span.count for span in spans))


def skip_unfired(
    routine: Routine, state: RoutineState, until: datetime, reason: Reason, now: datetime
) -> list[RoutineRun]:
    """Write the unfired slots up to `until` as SKIPPED and move the state past them; the caller saves the state.

    Call it with the state locked. The moment of a hint stands alone: when slots follow it, `state.next_slot` is still
    not later than `until` afterwards.
    """
    firing = _left_over(routine, state, until)
    if firing is None:
        return []
    source = source_of(routine, state)
    _move_past(firing, state)
    return _write(routine, state, _spans(firing), reason, now, source)


def last_after_skipping(routine: Routine, state: RoutineState, until: datetime) -> datetime | None:
    """The last slot as it would be if the unfired ones up to `until` were skipped. Nothing is changed."""
    state = copy(state)
    while (firing := _left_over(routine, state, until)) is not None:
        _move_past(firing, state)
    return state.last_slot


def _move_past(firing: Firing, state: RoutineState) -> None:
    state.last_slot, state.next_slot = firing.last_slot, firing.next_slot
    if firing.uses_up_oneshot:
        state.hint_next_at = None


def skip_passed_over(routine: Routine, state: RoutineState, now: datetime) -> list[RoutineRun]:
    """Write all cron slots up to now that a hint or a clamp went past, in one row: a new plan starts after now."""
    trigger = plan_state(routine, state).trigger
    if not isinstance(trigger, CronTrigger) or state.last_slot is None:
        return []
    span = count_between(trigger, state.last_slot, now)
    if span is None:
        return []
    state.last_slot = span.last
    return _write(routine, state, [span], Reason.SUPERSEDED, now)


def skip_planned(routine: Routine, state: RoutineState, until: datetime, reason: Reason, now: datetime) -> None:
    """Write the one slot up to `until` that is known to be owed, when the schedule behind it is not known any more."""
    slot = state.next_slot
    if slot is not None and slot <= until:
        state.last_slot, state.next_slot = slot, None
        _write(routine, state, [Span(first=slot, last=slot, count=1)], reason, now)


def _left_over(routine: Routine, state: RoutineState, until: datetime) -> Firing | None:
    if state.next_slot is None or state.next_slot > until:
        return None
    due = Due(
        plan=awake_plan_state(routine, state),
        rule=KEEP_NOTHING,
        last_slot=anchor_of(routine, state),
        next_slot=state.next_slot,
        source=source_of(routine, state),
    )
    # A moment later, so that a slot at `until` itself counts as gone.
    return decide_firing(due, until + INSTANT)


def source_of(routine: Routine, state: RoutineState) -> Source:
    """Why `next_slot` was planned; a pause or a catch-up has overwritten the state's own note of it.

    A cron's slot tells by itself whether it is one: if not, a hint or a clamp chose it and went past others.
    """
    noted = Source(state.next_source)
    if noted not in OVERWRITTEN:
        return noted
    if state.hint_next_at is not None and state.hint_next_at == state.next_slot:
        return Source.HINT_ONESHOT
    trigger = plan_state(routine, state).trigger
    moved = isinstance(trigger, CronTrigger) and next_slot(trigger, anchor_of(routine, state)) != state.next_slot
    return Source.HINT_INTERVAL if moved else baseline_source(routine)


def _spans(firing: Firing) -> list[Span]:
    fired = [Span(first=fire.slot, last=fire.slot, count=1) for fire in firing.fire]
    return sorted([skip.span for skip in firing.skipped] + fired, key=lambda span: span.first)


def _write(
    routine: Routine,
    state: RoutineState,
    spans: Sequence[Span],
    reason: Reason,
    now: datetime,
    source: Source | None = None,
) -> list[RoutineRun]:
    following = [span.first for span in spans[1:]] + [state.next_slot]
    keys = keys_of(routine.pk, [span.first for span in spans])
    runs = [
        _skipped(routine, span, key, next_planned, reason, now, source)
        for span, key, next_planned in zip(spans, keys, following, strict=True)
    ]
    RoutineRun.objects.using(ledger_alias()).bulk_create(runs, ignore_conflicts=True)
    tell(runs)
    return runs


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
