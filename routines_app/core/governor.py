"""The governor: when a beat must look at a routine again, and why then.

Baseline, then hints about the pace, then a one-shot, then clamps, then the schedule's bounds; a status that is not
ACTIVE decides alone. A baseline may lie in the past: the caller accounts for missed slots before it moves on, so
nothing that the governor moves is lost from the ledger.

* The baseline is the trigger's own: the next slot of the cron, or of the interval's grid, which nothing moves.
* A hint about the pace (`pace.py`) replaces it until the hint expires. No hinted moment is later than that: where the
  next one would be, the plan is the first baseline slot after the expiry. So a hint that has expired and is still
  there decides nothing any more, and the slots of its life are not owed.
* A one-shot competes with what the pace says; the earlier one wins. One that is too close to the last slot is served
  by the next that is not; where that comes after its expiry, it is moved as little as the clamp asks for.
* A trigger with one slot has no pace and no distances: of hints only a one-shot counts, as one more fire.
* Clamps are distances between scheduled slots. They count from `clamps_from`, the last one that has a row. The lower
  one takes the first baseline slot that is far enough away, so that the grid stays; a hinted pace is held to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from routines_app.core.pace import Pace, backed_off, later, pace_of
from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    OnceTrigger,
    Trigger,
    next_slot,
)
from routines_app.core.words import HintKind, RoutineStatus, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """What the plan depends on, besides the time and the anchor. A hint has a value and an expiry, or neither."""

    trigger: Trigger
    status: RoutineStatus = RoutineStatus.ACTIVE
    paused_until: datetime | None = None
    failure_count: int = 0
    min_interval_ms: int | None = None
    max_interval_ms: int | None = None
    clamps_from: datetime | None = None
    """The last scheduled slot that has a row; without one there is nothing to keep a distance from."""
    hint_interval_ms: int | None = None
    hint_interval_expires_at: datetime | None = None
    hint_next_at: datetime | None = None
    hint_next_expires_at: datetime | None = None
    hint_factor: float | None = None
    hint_factor_expires_at: datetime | None = None

    @property
    def start_at(self) -> datetime | None:
        return None if isinstance(self.trigger, ManualTrigger) else self.trigger.start_at

    @property
    def end_at(self) -> datetime | None:
        return None if isinstance(self.trigger, ManualTrigger) else self.trigger.end_at

    @property
    def least_ms(self) -> int | None:
        """The lower clamp, of slots that have others to keep a distance from."""
        return None if isinstance(self.trigger, OnceTrigger) else self.min_interval_ms

    @property
    def most_ms(self) -> int | None:
        """The upper clamp, likewise."""
        return None if isinstance(self.trigger, OnceTrigger) else self.max_interval_ms

    @property
    def earliest(self) -> datetime | None:
        """How close to the last slot the next one may be."""
        if self.clamps_from is None or self.least_ms is None:
            return None
        return later(self.clamps_from, self.least_ms)


HINT_FIELDS = {
    HintKind.INTERVAL: ("hint_interval_ms", "hint_interval_expires_at"),
    HintKind.NEXT: ("hint_next_at", "hint_next_expires_at"),
    HintKind.FACTOR: ("hint_factor", "hint_factor_expires_at"),
}
"""By kind: its value and its expiry in `PlanState`."""


class Plan(NamedTuple):
    next_run_at: datetime | None
    source: Source

    @property
    def slot_source(self) -> str:
        """Why that slot, for a routine that is ACTIVE; nothing where there is none."""
        return "" if self.next_run_at is None else self.source.value


def plan_next(state: PlanState, now: datetime, anchor: datetime) -> Plan:
    """The next time and its source. `anchor` is the last slot, or the creation when there was none."""
    match state.status:
        case RoutineStatus.ARCHIVED:
            return Plan(None, Source.ARCHIVED)
        case RoutineStatus.PARKED:
            return Plan(None, Source.PARKED)
        case RoutineStatus.PAUSED:
            return Plan(state.paused_until, Source.PAUSED)
    plan = _with_oneshot(state, _paced(state, now, anchor), now)
    return _bounded(state, _not_too_late(state, plan, now))


def expired_hints(state: PlanState, now: datetime) -> tuple[HintKind, ...]:
    """The hints that are over: whoever plans drops them."""
    found = {
        HintKind.INTERVAL: state.hint_interval_expires_at,
        HintKind.NEXT: state.hint_next_expires_at,
        HintKind.FACTOR: state.hint_factor_expires_at,
    }
    return tuple(kind for kind, expires_at in found.items() if expires_at is not None and expires_at <= now)


def pace_hint(state: PlanState) -> Pace | None:
    """What the hints about the pace come to together, expired or not; None when there are none."""
    return pace_of(
        state.trigger,
        state.failure_count,
        interval_ms=state.hint_interval_ms,
        interval_expires_at=state.hint_interval_expires_at,
        factor=state.hint_factor,
        factor_expires_at=state.hint_factor_expires_at,
    )


def hints_of(state: PlanState) -> tuple[HintKind, ...]:
    """The hints that there are, expired or not."""
    return tuple(kind for kind, (value, _) in HINT_FIELDS.items() if getattr(state, value) is not None)


def baseline_of(trigger: Trigger) -> Source:
    """The source of the trigger's own slots, if it has any."""
    if isinstance(trigger, OnceTrigger):
        return Source.BASELINE_ONCE
    return Source.BASELINE_CRON if isinstance(trigger, CronTrigger) else Source.BASELINE_INTERVAL


def restarts(state: PlanState, now: datetime, anchor: datetime) -> bool:
    """Whether a hinted pace that is in force counts from now: from the anchor, its next moment would have passed."""
    pace = pace_hint(state)
    at = None if pace is None or pace.expires_at <= now else pace.next_after(anchor)
    return at is not None and at <= now


def is_oneshots(state: PlanState, slot: datetime, source: Source, anchor: datetime) -> bool:
    """Whether a planned slot is a one-shot's: its own moment, or one that the lower clamp made for it."""
    if source is Source.HINT_ONESHOT:
        return True
    if source is not Source.CLAMPED_MIN or state.hint_next_at is None or state.hint_next_at > slot:
        return False
    return without_oneshot(state, slot, anchor).next_run_at != slot


def without_oneshot(state: PlanState, slot: datetime, anchor: datetime) -> Plan:
    """What would have been planned instead of a one-shot's slot, as of the moment before it."""
    return plan_next(without_hints(state, (HintKind.NEXT,)), slot - INSTANT, anchor)


def without_hints(state: PlanState, kinds: tuple[HintKind, ...]) -> PlanState:
    """The state as it is when these hints are dropped."""
    columns: dict[str, Any] = {column: None for kind in kinds for column in HINT_FIELDS[kind]}
    return replace(state, **columns) if columns else state


def _paced(state: PlanState, since: datetime, anchor: datetime, *, after: datetime | None = None) -> Plan:
    """Baseline, or the hinted pace while it lasts. `after`: only moments later than that, where a hint has ended."""
    pace = pace_hint(state)
    if pace is None:
        return _baseline(state, anchor, after)
    at, source = pace.next_after(anchor), pace.source
    if at is not None and at <= since:  # a pace makes no backlog: it restarts
        at = pace.next_after(since)
    if at is not None and state.earliest is not None and at < state.earliest:
        at, source = pace.not_before(state.earliest), Source.CLAMPED_MIN
    if at is not None and at <= pace.expires_at:
        return Plan(at, source)
    ended = expired_hints(replace(state, hint_next_expires_at=None), pace.expires_at)
    return _paced(without_hints(state, ended), max(since, pace.expires_at), anchor, after=pace.expires_at)


def _baseline(state: PlanState, anchor: datetime, after: datetime | None) -> Plan:
    trigger = state.trigger
    if isinstance(trigger, ManualTrigger):
        return Plan(None, Source.MANUAL)
    paced = backed_off(trigger, state.failure_count, anchor) if isinstance(trigger, IntervalTrigger) else trigger
    at = next_slot(paced, anchor if after is None else max(anchor, after))
    if at is not None and state.earliest is not None and at < state.earliest:
        return Plan(next_slot(trigger, state.earliest - INSTANT), Source.CLAMPED_MIN)
    return Plan(at, baseline_of(trigger))


def _with_oneshot(state: PlanState, plan: Plan, now: datetime) -> Plan:
    at, expires_at = state.hint_next_at, state.hint_next_expires_at
    if at is None or expires_at is None or expires_at <= max(now, at):
        return plan
    at, source = max(now, at), Source.HINT_ONESHOT
    if state.clamps_from is not None:  # a slot that has its row is not planned again
        at = max(at, state.clamps_from + INSTANT)
    if state.earliest is not None and at < state.earliest:
        # Too close: the first slot that is far enough away serves for it, if in time. Else the clamp makes one.
        if plan.next_run_at is not None and plan.next_run_at <= expires_at:
            return plan
        at, source = state.earliest, Source.CLAMPED_MIN
    if at > expires_at:
        return plan
    # On a tie the hint wins, so that whoever fires it sees that it is used up.
    return Plan(at, source) if plan.next_run_at is None or at <= plan.next_run_at else plan


def _not_too_late(state: PlanState, plan: Plan, now: datetime) -> Plan:
    """The upper clamp brings a time forward, at most to now: a slot that is already due stays what it is."""
    if plan.next_run_at is None or state.most_ms is None or state.clamps_from is None:
        return plan
    high = max(now, later(state.clamps_from, state.most_ms))
    return Plan(high, Source.CLAMPED_MAX) if plan.next_run_at > high else plan


def _bounded(state: PlanState, plan: Plan) -> Plan:
    at = plan.next_run_at
    if at is not None and state.start_at is not None and at < state.start_at:
        plan = Plan(next_slot(state.trigger, state.start_at - INSTANT), baseline_of(state.trigger))
    if plan.source is Source.MANUAL:
        return plan
    if plan.next_run_at is None or (state.end_at is not None and plan.next_run_at > state.end_at):
        return Plan(None, Source.ENDED)
    return plan
