"""Hints, one-shots, factors, failures, pauses and late looks in any order: what holds between the slots that follow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import decide_firing
from routines_app.core.governor import PlanState, expired_hints, plan_next, without_hints
from routines_app.core.owed import Due
from routines_app.core.triggers import CronTrigger, IntervalTrigger, ManualTrigger, Trigger
from routines_app.core.words import CatchUpPolicy, HintKind, Reason, Source

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
TRIGGERS: tuple[Trigger, ...] = (
    CronTrigger(expression="*/10 * * * *", timezone="UTC"),
    CronTrigger(expression="0,5,7,30 * * * *", timezone="UTC"),
    IntervalTrigger(interval_ms=420_000, anchor=NOON),
    ManualTrigger(),
)
EXPIRY = {
    Source.HINT_INTERVAL: "hint_interval_expires_at",
    Source.HINT_ONESHOT: "hint_next_expires_at",
    Source.HINT_FACTOR: "hint_factor_expires_at",
}

minutes = st.integers(1, 90).map(lambda number: number * MINUTE)
acts = st.one_of(
    st.tuples(st.just("wait"), minutes),
    st.tuples(st.just("wait"), st.integers(1, 600).map(lambda number: number * SECOND)),
    st.tuples(st.just("be late"), minutes),
    st.tuples(st.just("interval"), st.integers(1, 120), minutes),
    st.tuples(st.just("factor"), st.sampled_from([1.0, 2.0, 5.0]), minutes),
    st.tuples(st.just("oneshot"), st.integers(-10, 60), minutes),
    st.tuples(st.just("fail"), st.integers(0, 3)),
    st.tuples(st.just("pause"), minutes),
    st.tuples(st.just("clear")),
)


@dataclass
class Simulated:
    """One routine whose beat looks every few seconds, unless it is late."""

    plan: PlanState
    rule: CatchUp
    now: datetime = NOON
    last_slot: datetime = NOON
    next_slot: datetime | None = None
    source: Source = Source.MANUAL
    scheduled: list[tuple[datetime, Source]] = field(default_factory=list)
    """What fired because it was planned, and not late, in order."""

    def plan_from(self, anchor: datetime) -> None:
        self.next_slot, self.source = plan_next(self.plan, self.now, anchor)
        self.check_plan()

    def check_plan(self) -> None:
        """No hinted moment is later than its hint; nobody plans by a hint that was dropped."""
        if self.source in EXPIRY:
            expires_at = getattr(self.plan, EXPIRY[self.source])
            assert self.next_slot is not None
            assert self.next_slot <= expires_at

    def propose(self, **hint: Any) -> None:
        """It moves the plan only earlier; a one-shot that is replaced is gone, and what the new hint ends before."""
        planned_by = EXPIRY.get(self.source)
        replaced = planned_by in hint and (self.source is Source.HINT_ONESHOT or self.next_slot > hint[planned_by])
        self.plan = replace(without_hints(self.plan, expired_hints(self.plan, self.now)), **hint)
        at, source = plan_next(self.plan, self.now, self.last_slot)
        earlier = at is not None and at >= self.now and (self.next_slot is None or at < self.next_slot)
        if not (self.next_slot is not None and self.next_slot <= self.now) and (earlier or replaced):
            self.next_slot, self.source = at, source
        self.check_plan()

    def look(self) -> None:
        """Claim what is due, until nothing is."""
        while self.next_slot is not None and self.next_slot <= self.now:
            due = Due(
                plan=self.plan, rule=self.rule, last_slot=self.last_slot, next_slot=self.next_slot, source=self.source
            )
            firing = decide_firing(due, self.now)
            for fire in firing.fire:
                if not fire.missed:
                    self.scheduled.append((fire.slot, self.source))
            gone = (*firing.expired, HintKind.NEXT) if firing.uses_up_oneshot else firing.expired
            self.plan = replace(without_hints(self.plan, gone), clamps_from=firing.clamps_from)
            assert firing.sequential or set(expired_hints(self.plan, self.now)) == set()
            assert all(skip.span.last <= self.now for skip in firing.skipped)
            assert not any(skip.reason is Reason.EXPIRED for skip in firing.skipped) or not firing.fire
            self.last_slot, self.next_slot = firing.last_slot, firing.next_slot
            self.source = firing.source
            if firing.sequential:  # the chain has ended by now
                self.source = (
                    Source.BASELINE_CRON if isinstance(due.plan.trigger, CronTrigger) else Source.BASELINE_INTERVAL
                )
            self.check_plan()

    def wait(self, length: timedelta) -> None:
        end = self.now + length
        while self.next_slot is not None and self.now < self.next_slot <= end:
            self.now = self.next_slot + min(SECOND, end - self.next_slot)
            self.look()
        self.now = end
        self.look()

    def act(self, what: str, *given: Any) -> None:
        match what:
            case "wait":
                self.wait(*given)
            case "be late":
                self.now += given[0]
                self.look()
            case "interval":
                until = self.now + given[1]
                self.propose(hint_interval_ms=given[0] * 10_000, hint_interval_expires_at=until)
            case "factor":
                self.propose(hint_factor=given[0], hint_factor_expires_at=self.now + given[1])
            case "oneshot":
                at = self.now + given[0] * MINUTE
                self.propose(hint_next_at=at, hint_next_expires_at=max(at, self.now) + given[1])
            case "fail":
                self.plan = replace(self.plan, failure_count=given[0])
            case "pause":  # what was planned for its time is left out
                self.now += given[0]
                self.plan = without_hints(self.plan, expired_hints(self.plan, self.now))
                self.last_slot = self.now
                self.plan_from(self.now)
            case "clear" if self.next_slot is None or self.next_slot > self.now:
                self.plan = without_hints(self.plan, tuple(HintKind))
                self.plan_from(self.last_slot)
                self.look()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(TRIGGERS),
    st.sampled_from(list(CatchUpPolicy)),
    st.sampled_from([0, 60_000, 3_600_000]),
    st.sampled_from([None, 600_000, 1_000_000]),
    st.sampled_from([None, 1_200_000]),
    st.lists(acts, max_size=25),
)
def test_scheduled_slots_keep_their_distance_and_the_grid_stays(
    trigger: Trigger, policy: CatchUpPolicy, grace_ms: int, low: int | None, high: int | None, steps: list[Any]
) -> None:
    """No two scheduled slots are closer than the minimum, catch-up being exempt; an interval's own are on its grid; a
    hinted moment is not later than its hint, and a hint that is over never decides again."""
    plan = PlanState(trigger=trigger, min_interval_ms=low, max_interval_ms=high)
    routine = Simulated(plan=plan, rule=CatchUp(policy=policy, grace_ms=grace_ms))
    routine.plan_from(NOON)
    for step in steps:
        routine.act(*step)
    slots = [slot for slot, _ in routine.scheduled]
    assert slots == sorted(set(slots))
    if low is not None:
        least = timedelta(milliseconds=low)
        assert all(later - earlier >= least for earlier, later in pairwise(slots))
    if isinstance(trigger, IntervalTrigger):
        own = [slot for slot, source in routine.scheduled if source is Source.BASELINE_INTERVAL]
        assert all((slot - NOON) % timedelta(milliseconds=trigger.interval_ms) == timedelta() for slot in own)
