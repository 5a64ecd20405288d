"""Catch-up: each due slot is accounted for exactly once, by every policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from routines_app.core import catch_up
from routines_app.core.catch_up import Accounting, CatchUp, Fire, account
from routines_app.core.triggers import (
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    Span,
    Trigger,
    next_slot,
    slots_between,
)
from routines_app.core.words import CatchUpPolicy
from tests.unit.core.strategies import ZONES, seconds

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=10)
MINUTE = timedelta(minutes=1)
MINUTELY = CronTrigger(expression="* * * * *", timezone="UTC")
EVERY_MINUTE = IntervalTrigger(interval_ms=60_000, anchor=NOON)
BOTH = pytest.mark.parametrize("trigger", [MINUTELY, EVERY_MINUTE])


def rule(policy: CatchUpPolicy, *, grace: int = 2, window: int | None = None, limit: int | None = None) -> CatchUp:
    window_ms = None if window is None else window * 60_000
    return CatchUp(policy=policy, grace_ms=grace * 60_000, window_ms=window_ms, limit=limit)


def fires(accounting: Accounting) -> list[tuple[int, bool]]:
    return [((fire.slot - NOON) // MINUTE, fire.missed) for fire in accounting.fire]


def skipped(accounting: Accounting) -> tuple[int, int, int] | None:
    if (span := accounting.skipped) is None:
        return None
    return (span.first - NOON) // MINUTE, (span.last - NOON) // MINUTE, span.count


@BOTH
def test_skip_fires_only_the_newest_of_the_slots_that_are_due(trigger: Trigger) -> None:
    """Ten minutes late with two of grace: the newest fires, and all before it are one span, in the grace or not."""
    done = account(trigger, first=NOON, now=NOW, rule=rule(CatchUpPolicy.SKIP))
    assert skipped(done) == (0, 9, 10)
    assert fires(done) == [(10, False)]
    assert done.next_slot == NOON + 11 * MINUTE
    assert not done.sequential


@BOTH
@pytest.mark.parametrize(("late", "older"), [(0, None), (1, (0, 0, 1)), (2, (0, 1, 2))])
def test_skip_within_the_grace_fires_only_the_newest_too(
    trigger: Trigger, late: int, older: tuple[int, int, int] | None
) -> None:
    """A minute's outage is no reason for a burst: what the older slots were for, the newest does."""
    done = account(trigger, first=NOON, now=NOON + late * MINUTE, rule=rule(CatchUpPolicy.SKIP))
    assert (fires(done), skipped(done)) == ([(late, False)], older)


@pytest.mark.parametrize(("late", "fired"), [(2, [(0, False)]), (3, [])])
def test_skip_judges_the_newest_slot_by_the_grace(late: int, fired: list[tuple[int, bool]]) -> None:
    """Exactly the grace late is in time; later, nothing fires and all of it is one span."""
    hourly = CronTrigger(expression="0 * * * *", timezone="UTC")
    done = account(hourly, first=NOON, now=NOON + late * MINUTE, rule=rule(CatchUpPolicy.SKIP))
    assert fires(done) == fired
    assert skipped(done) == (None if fired else (0, 0, 1))
    assert done.next_slot == NOON + 60 * MINUTE


@BOTH
def test_last_runs_the_newest_missed_slot_too(trigger: Trigger) -> None:
    """The others become the span."""
    done = account(trigger, first=NOON, now=NOW, rule=rule(CatchUpPolicy.LAST))
    assert skipped(done) == (0, 6, 7)
    assert fires(done) == [(7, True), (8, False), (9, False), (10, False)]


@BOTH
def test_all_runs_the_oldest_missed_slot_alone(trigger: Trigger) -> None:
    """One at a time: what follows waits for its chain to end."""
    done = account(trigger, first=NOON, now=NOW, rule=rule(CatchUpPolicy.ALL))
    assert done == Accounting(fire=(Fire(slot=NOON, missed=True),), next_slot=NOON + MINUTE, sequential=True)


@BOTH
@pytest.mark.parametrize(("window", "limit", "oldest"), [(5, None, 5), (None, 2, 6), (5, 2, 6), (4, 3, 6), (99, 99, 0)])
def test_window_and_limit_narrow_what_all_runs(
    trigger: Trigger, window: int | None, limit: int | None, oldest: int
) -> None:
    """Slots that are too old or too many are written off, the newest are kept."""
    done = account(trigger, first=NOON, now=NOW, rule=rule(CatchUpPolicy.ALL, window=window, limit=limit))
    assert fires(done) == [(oldest, True)]
    assert skipped(done) == ((0, oldest - 1, oldest) if oldest else None)
    assert done.sequential


@BOTH
def test_when_window_or_limit_leave_nothing_the_fresh_slots_fire(trigger: Trigger) -> None:
    """ALL without anything to catch up is an ordinary claim."""
    for narrow in (
        rule(CatchUpPolicy.ALL, window=1),
        rule(CatchUpPolicy.ALL, limit=0),
        rule(CatchUpPolicy.LAST, window=1),
        rule(CatchUpPolicy.LAST, limit=0),
    ):
        done = account(trigger, first=NOON, now=NOW, rule=narrow)
        assert skipped(done) == (0, 7, 8)
        assert fires(done) == [(8, False), (9, False), (10, False)]
        assert not done.sequential


@BOTH
@pytest.mark.parametrize("policy", [CatchUpPolicy.LAST, CatchUpPolicy.ALL])
def test_a_slot_within_the_grace_is_not_missed(trigger: Trigger, policy: CatchUpPolicy) -> None:
    """Exactly the grace late is still in time."""
    done = account(trigger, first=NOON, now=NOON + 2 * MINUTE, rule=rule(policy))
    assert fires(done) == [(0, False), (1, False), (2, False)]
    assert done.skipped is None
    assert not done.sequential


def test_a_slot_that_is_not_due_is_left_alone() -> None:
    """Looking too early changes nothing."""
    done = account(MINUTELY, first=NOW + MINUTE, now=NOW, rule=rule(CatchUpPolicy.SKIP))
    assert done == Accounting(next_slot=NOW + MINUTE)


@pytest.mark.parametrize("policy", CatchUpPolicy)
def test_after_the_end_no_slot_follows(policy: CatchUpPolicy) -> None:
    """An ended schedule is accounted for to its last slot, a manual one has only the slot it was hinted."""
    ended = CronTrigger(expression="* * * * *", timezone="UTC", end_at=NOON)
    assert account(ended, first=NOON, now=NOW, rule=rule(policy)).next_slot is None
    assert account(ManualTrigger(), first=NOW, now=NOW, rule=rule(policy)).next_slot is None


def test_a_first_slot_off_the_grid_is_accounted_for() -> None:
    """A hint or a clamp may have moved the planned slot off the schedule."""
    odd = NOON + timedelta(seconds=30)
    for trigger in (MINUTELY, EVERY_MINUTE):
        done = account(trigger, first=odd, now=NOW, rule=rule(CatchUpPolicy.SKIP))
        assert done.skipped == Span(first=odd, last=NOON + 9 * MINUTE, count=10)
        kept = account(trigger, first=odd, now=NOW, rule=rule(CatchUpPolicy.ALL))
        assert kept.fire == (Fire(slot=odd, missed=True),)
        assert kept.next_slot == NOON + MINUTE


SECONDLY = [
    CronTrigger(expression="* * * * * *", timezone="Europe/Berlin"),
    IntervalTrigger(interval_ms=1_000, anchor=NOON),
]


@pytest.mark.parametrize("trigger", SECONDLY)
@pytest.mark.parametrize(
    ("policy", "limit", "kept"),
    [
        (CatchUpPolicy.SKIP, None, 0),
        (CatchUpPolicy.LAST, None, 1),
        (CatchUpPolicy.ALL, 5, 5),
        (CatchUpPolicy.ALL, 1_000_000, 1_000_000),
    ],
)
def test_ten_years_of_missed_seconds_are_accounted_for_at_once(
    trigger: Trigger, policy: CatchUpPolicy, limit: int | None, kept: int
) -> None:
    """Slots are counted, never listed, whatever the policy, by cron as by interval."""
    now = NOON + timedelta(days=3_650)
    done = account(trigger, first=NOON, now=now, rule=CatchUp(policy=policy, grace_ms=0, limit=limit))
    missed = 3_650 * 86_400
    last = NOON + timedelta(seconds=missed - kept - 1)
    assert done.skipped == Span(first=NOON, last=last, count=missed - kept)
    if kept:
        assert done.fire[0] == Fire(slot=last + timedelta(seconds=1), missed=True)


@pytest.mark.parametrize("trigger", SECONDLY)
def test_a_window_is_found_in_ten_years_of_seconds(trigger: Trigger) -> None:
    """What is older than the window is counted, the oldest within it runs."""
    now = NOON + timedelta(days=3_650)
    rule = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=0, window_ms=3_600_000)
    done = account(trigger, first=NOON, now=now, rule=rule)
    assert done.fire == (Fire(slot=now - timedelta(hours=1), missed=True),)
    assert done.skipped is not None
    assert done.skipped.count == 3_650 * 86_400 - 3_600


cron_every = st.sampled_from(["* * * * *", "*/15 * * * *", "30 2 * * *", "0,30 1-3 * * *", "*/20 */2 * * *"])
schedules = st.one_of(
    st.builds(CronTrigger, expression=cron_every, timezone=st.sampled_from(ZONES)),
    st.builds(IntervalTrigger, interval_ms=st.integers(60_000, 10**7), anchor=seconds),
)
rules = st.builds(
    CatchUp,
    policy=st.sampled_from(CatchUpPolicy),
    grace_ms=st.integers(0, 3_600_000),
    window_ms=st.none() | st.integers(0, 10**8),
    limit=st.none() | st.integers(0, 40),
)


@given(schedules, seconds, st.timedeltas(timedelta(0), timedelta(hours=12)), rules, st.sampled_from([3, 10, 10_000]))
def test_each_due_slot_is_accounted_for_once_in_pieces_or_at_once(
    trigger: CronTrigger | IntervalTrigger, start: datetime, late: timedelta, rule: CatchUp, cap: int
) -> None:
    """Spans and fires, put together over as many claims as it takes, are the due slots in order, none twice."""
    first = next_slot(trigger, start)
    assume(first is not None)
    assert first is not None
    now = first + late
    due = [first, *slots_between(trigger, first, now).slots]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catch_up, "MAX_ENUMERATED", cap)
        found = list(accounted_for(trigger, first, now, rule, most_claims=2 * len(due) + 2))
    assert found == due


def accounted_for(
    trigger: Trigger, first: datetime | None, now: datetime, rule: CatchUp, most_claims: int
) -> list[datetime]:
    """The slots of one catch-up, claim after claim until nothing is due."""
    found: list[datetime] = []
    for _ in range(most_claims):
        if first is None or first > now:
            return found
        done = account(trigger, first=first, now=now, rule=rule)
        if done.skipped is not None:
            span = [done.skipped.first, *slots_between(trigger, done.skipped.first, done.skipped.last).slots]
            assert len(span) == done.skipped.count
            found += span
        found += [fire.slot for fire in done.fire]
        assert done.fire or done.skipped, "a claim that accounts for nothing would go on for ever"
        assert len(done.fire) == 1 or not done.sequential
        first = done.next_slot
    raise AssertionError("the catch-up does not end")


@given(schedules, seconds, st.timedeltas(timedelta(0), timedelta(hours=12)), rules)
def test_pieces_keep_the_slots_that_a_single_claim_keeps(
    trigger: CronTrigger | IntervalTrigger, start: datetime, late: timedelta, rule: CatchUp
) -> None:
    """A small cap changes how many claims it takes, not which missed slots run."""
    first = next_slot(trigger, start)
    assert first is not None
    now = first + late
    whole = all_fires(trigger, first, now, rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catch_up, "MAX_ENUMERATED", 50)  # above the largest limit drawn, as the real one is
        assert all_fires(trigger, first, now, rule) == whole


def all_fires(trigger: Trigger, first: datetime | None, now: datetime, rule: CatchUp) -> list[Fire]:
    found: list[Fire] = []
    while first is not None and first <= now:
        done = account(trigger, first=first, now=now, rule=rule)
        found += done.fire
        first = done.next_slot
    return found
