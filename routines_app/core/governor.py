"""The governor: when a beat must look at a routine again, and why then.

Baseline, then hints, then clamps, then the schedule's bounds; a status that is not ACTIVE decides alone. A
baseline may lie in the past: the caller accounts for missed slots before it moves on, so nothing that the
governor moves is lost from the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    Trigger,
    next_slot,
)
from routines_app.core.words import RoutineStatus, Source

MAX_DOUBLINGS = 5  # a failing interval routine slows down to at most 32 times its interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """What the plan depends on, besides the time and the anchor."""

    trigger: Trigger
    status: RoutineStatus = RoutineStatus.ACTIVE
    paused_until: datetime | None = None
    failure_count: int = 0
    min_interval_ms: int | None = None
    max_interval_ms: int | None = None
    hint_interval_ms: int | None = None
    hint_next_at: datetime | None = None
    hint_expires_at: datetime | None = None

    @property
    def start_at(self) -> datetime | None:
        return None if isinstance(self.trigger, ManualTrigger) else self.trigger.start_at

    @property
    def end_at(self) -> datetime | None:
        return None if isinstance(self.trigger, ManualTrigger) else self.trigger.end_at


class Plan(NamedTuple):
    next_run_at: datetime | None
    source: Source


def plan_next(state: PlanState, now: datetime, anchor: datetime) -> Plan:
    """The next time and its source. `anchor` is the last slot, or the creation when there was none."""
    match state.status:
        case RoutineStatus.ARCHIVED:
            return Plan(None, Source.ARCHIVED)
        case RoutineStatus.PARKED:
            return Plan(None, Source.PARKED)
        case RoutineStatus.PAUSED:
            return Plan(state.paused_until, Source.PAUSED)
    chosen = _chosen(state, now, anchor)
    return _bounded(state, _clamped(state, chosen, now, anchor))


def effective_interval_ms(state: PlanState, now: datetime) -> int | None:
    """The interval that holds now, with hint, back-off and clamps; None when slots follow no interval."""
    if _hinted(state, now) and state.hint_interval_ms is not None:
        interval = state.hint_interval_ms
    elif isinstance(state.trigger, IntervalTrigger):
        interval = _backed_off_ms(state.trigger, state.failure_count)
    else:
        return None
    if state.max_interval_ms is not None:
        interval = min(interval, state.max_interval_ms)
    return max(interval, state.min_interval_ms or 0)


def _chosen(state: PlanState, now: datetime, anchor: datetime) -> Plan:
    """Baseline and fresh hints, the earliest of those that compete."""
    plan = _baseline(state, anchor)
    if not _hinted(state, now):
        return plan
    if state.hint_interval_ms is not None:
        plan = Plan(max(now, _later(anchor, state.hint_interval_ms)), Source.HINT_INTERVAL)
    if state.hint_next_at is not None:
        once = max(now, state.hint_next_at)
        # On a tie the hint wins, so that whoever fires it sees that it is used up.
        if plan.next_run_at is None or once <= plan.next_run_at:
            return Plan(once, Source.HINT_ONESHOT)
    return plan


def _baseline(state: PlanState, anchor: datetime) -> Plan:
    match state.trigger:
        case ManualTrigger():
            return Plan(None, Source.MANUAL)
        case CronTrigger() as cron:
            return Plan(next_slot(cron, anchor), Source.BASELINE_CRON)
        case interval:
            if _before_start(state, anchor):
                return Plan(_first_slot(state), Source.BASELINE_INTERVAL)
            backed_off = _backed_off_ms(interval, state.failure_count)
            return Plan(_later(anchor, backed_off), Source.BASELINE_INTERVAL)


def _clamped(state: PlanState, plan: Plan, now: datetime, anchor: datetime) -> Plan:
    at = plan.next_run_at
    if at is None or _before_start(state, anchor):  # clamps are distances between slots, and there is none yet
        return plan
    if state.min_interval_ms is not None and at < (low := _later(anchor, state.min_interval_ms)):
        return Plan(low, Source.CLAMPED_MIN)
    # The upper clamp brings a time forward, at most to now: a slot that is already due stays what it is.
    if state.max_interval_ms is not None and at > (high := max(now, _later(anchor, state.max_interval_ms))):
        return Plan(high, Source.CLAMPED_MAX)
    return plan


def _bounded(state: PlanState, plan: Plan) -> Plan:
    at = plan.next_run_at
    if at is not None and state.start_at is not None and at < state.start_at:
        baseline = Source.BASELINE_CRON if isinstance(state.trigger, CronTrigger) else Source.BASELINE_INTERVAL
        plan = Plan(_first_slot(state), baseline)
    if plan.source is Source.MANUAL:
        return plan
    if plan.next_run_at is None or (state.end_at is not None and plan.next_run_at > state.end_at):
        return Plan(None, Source.ENDED)
    return plan


def _hinted(state: PlanState, now: datetime) -> bool:
    return state.hint_expires_at is None or state.hint_expires_at > now


def _before_start(state: PlanState, anchor: datetime) -> bool:
    return state.start_at is not None and anchor < state.start_at


def _first_slot(state: PlanState) -> datetime | None:
    return None if state.start_at is None else next_slot(state.trigger, state.start_at - INSTANT)


def _backed_off_ms(trigger: IntervalTrigger, failure_count: int) -> int:
    doublings = max(0, min(failure_count, MAX_DOUBLINGS))
    return int(trigger.interval_ms * 2**doublings)


def _later(moment: datetime, ms: int) -> datetime:
    return moment + timedelta(milliseconds=ms)
