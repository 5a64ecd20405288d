"""The governor: baseline, hints, clamps, bounds, and statuses that decide alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.governor import Plan, PlanState, effective_interval_ms, plan_next
from routines_app.core.triggers import CronTrigger, IntervalTrigger, ManualTrigger
from routines_app.core.words import RoutineStatus, Source
from tests.unit.core.strategies import milliseconds, triggers

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
HOURLY = PlanState(trigger=CronTrigger(expression="0 * * * *", timezone="UTC"))
EVERY_10_MIN = PlanState(trigger=IntervalTrigger(interval_ms=600_000, anchor=NOON))
MANUAL = PlanState(trigger=ManualTrigger())

durations = st.none() | st.integers(1_000, 10**9)
states = st.builds(
    PlanState,
    trigger=triggers | st.just(ManualTrigger()),
    failure_count=st.integers(0, 50),
    hint_interval_ms=durations,
    hint_next_at=st.none() | milliseconds,
    hint_expires_at=st.none() | milliseconds,
)


@given(states, milliseconds, milliseconds, durations, durations)
def test_the_answer_respects_the_clamps(
    state: PlanState, now: datetime, anchor: datetime, low: int | None, high: int | None
) -> None:
    """Never closer to the last slot than the minimum, never later than the maximum or now."""
    low, high = sorted((low, high)) if low is not None and high is not None else (low, high)
    state = replace(state, min_interval_ms=low, max_interval_ms=high)
    at, source = plan_next(state, now, anchor)
    if at is None:
        assert source is Source.MANUAL
        return
    if low is not None:
        assert at >= anchor + timedelta(milliseconds=low)
    if high is not None:
        assert at <= max(now, anchor + timedelta(milliseconds=high))


@given(states, milliseconds, milliseconds, st.none() | milliseconds)
def test_a_pause_wins_over_everything(
    state: PlanState, now: datetime, anchor: datetime, until: datetime | None
) -> None:
    """Hints, clamps and due slots do not wake a paused routine before its pause ends."""
    paused = replace(state, status=RoutineStatus.PAUSED, paused_until=until)
    assert plan_next(paused, now, anchor) == Plan(until, Source.PAUSED)


@pytest.mark.parametrize(
    ("status", "source"),
    [(RoutineStatus.ARCHIVED, Source.ARCHIVED), (RoutineStatus.PARKED, Source.PARKED)],
)
def test_archived_and_parked_routines_are_never_looked_at(status: RoutineStatus, source: Source) -> None:
    """They have no next time, hints or not."""
    assert plan_next(replace(HOURLY, status=status, hint_next_at=NOON), NOON, NOON) == Plan(None, source)


def test_the_baseline_is_the_next_slot_after_the_anchor_even_in_the_past() -> None:
    """The caller judges missed slots, so they are not jumped over here."""
    assert plan_next(HOURLY, NOON + 5 * HOUR, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    late = plan_next(EVERY_10_MIN, NOON + 5 * HOUR, NOON)
    assert late == Plan(NOON + 10 * MINUTE, Source.BASELINE_INTERVAL)


@pytest.mark.parametrize(("failures", "factor"), [(0, 1), (1, 2), (3, 8), (5, 32), (6, 32), (99, 32)])
def test_a_failing_interval_backs_off_up_to_32_times(failures: int, factor: int) -> None:
    """Each failed chain doubles the interval, five times at most; cron slots stay where they are."""
    state = replace(EVERY_10_MIN, failure_count=failures)
    assert plan_next(state, NOON, NOON).next_run_at == NOON + factor * 10 * MINUTE
    assert effective_interval_ms(state, NOON) == factor * 600_000
    assert plan_next(replace(HOURLY, failure_count=failures), NOON, NOON).next_run_at == NOON + HOUR


@pytest.mark.parametrize("state", [HOURLY, EVERY_10_MIN, MANUAL])
def test_a_fresh_interval_hint_replaces_the_baseline(state: PlanState) -> None:
    """Slower or faster than the baseline, for every trigger."""
    hinted = replace(state, hint_interval_ms=7_200_000, hint_expires_at=NOON + HOUR)
    assert plan_next(hinted, NOON, NOON) == Plan(NOON + 2 * HOUR, Source.HINT_INTERVAL)
    assert effective_interval_ms(hinted, NOON) == 7_200_000


def test_a_past_interval_candidate_restarts_from_now() -> None:
    """A hint about the pace does not make a backlog."""
    hinted = replace(HOURLY, hint_interval_ms=60_000, hint_expires_at=NOON + 9 * HOUR)
    assert plan_next(hinted, NOON + 5 * HOUR, NOON) == Plan(NOON + 5 * HOUR, Source.HINT_INTERVAL)


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (30, Plan(NOON + 30 * MINUTE, Source.HINT_ONESHOT)),
        (60, Plan(NOON + HOUR, Source.HINT_ONESHOT)),
        (90, Plan(NOON + HOUR, Source.BASELINE_CRON)),
        (-30, Plan(NOON, Source.HINT_ONESHOT)),
    ],
)
def test_a_fresh_oneshot_hint_competes_with_the_baseline(minutes: int, expected: Plan) -> None:
    """The earliest wins, a tie goes to the hint, and a past one-shot is now."""
    hinted = replace(HOURLY, hint_next_at=NOON + minutes * MINUTE, hint_expires_at=NOON + 9 * HOUR)
    assert plan_next(hinted, NOON, NOON) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (100, Plan(NOON + 100 * MINUTE, Source.HINT_ONESHOT)),
        (150, Plan(NOON + 2 * HOUR, Source.HINT_INTERVAL)),
    ],
)
def test_with_both_hints_the_earlier_wins_and_the_baseline_is_ignored(minutes: int, expected: Plan) -> None:
    """The baseline at 13:00 would be earlier than both, and does not count."""
    hinted = replace(HOURLY, hint_interval_ms=7_200_000, hint_next_at=NOON + minutes * MINUTE)
    assert plan_next(hinted, NOON, NOON) == expected


def test_an_expired_hint_is_ignored() -> None:
    """It ends at the very moment it expires."""
    hinted = replace(HOURLY, hint_interval_ms=60_000, hint_next_at=NOON, hint_expires_at=NOON)
    assert plan_next(hinted, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    assert effective_interval_ms(hinted, NOON) is None


def test_a_manual_routine_sleeps_until_it_is_hinted() -> None:
    """It has no baseline; a one-shot hint gives it a time."""
    assert plan_next(MANUAL, NOON, NOON) == Plan(None, Source.MANUAL)
    hinted = replace(MANUAL, hint_next_at=NOON + MINUTE)
    assert plan_next(hinted, NOON, NOON) == Plan(NOON + MINUTE, Source.HINT_ONESHOT)
    assert effective_interval_ms(MANUAL, NOON) is None


def test_clamps_are_measured_from_the_anchor() -> None:
    """The minimum pushes away from the last slot, the maximum pulls towards it, but not into the past."""
    slow = replace(EVERY_10_MIN, min_interval_ms=900_000)
    assert plan_next(slow, NOON, NOON) == Plan(NOON + 15 * MINUTE, Source.CLAMPED_MIN)
    fast = replace(EVERY_10_MIN, max_interval_ms=300_000)
    assert plan_next(fast, NOON, NOON) == Plan(NOON + 5 * MINUTE, Source.CLAMPED_MAX)
    assert plan_next(fast, NOON + 8 * MINUTE, NOON) == Plan(NOON + 8 * MINUTE, Source.CLAMPED_MAX)
    assert plan_next(fast, NOON + HOUR, NOON) == Plan(NOON + 10 * MINUTE, Source.BASELINE_INTERVAL)
    assert effective_interval_ms(slow, NOON) == 900_000
    assert effective_interval_ms(fast, NOON) == 300_000


@pytest.mark.parametrize(
    ("trigger", "source"),
    [
        (CronTrigger(expression="0 * * * *", timezone="UTC", start_at=NOON + HOUR), Source.BASELINE_CRON),
        (
            IntervalTrigger(interval_ms=600_000, anchor=NOON + HOUR, start_at=NOON + HOUR),
            Source.BASELINE_INTERVAL,
        ),
    ],
)
def test_before_the_start_the_first_slot_is_next(trigger: CronTrigger | IntervalTrigger, source: Source) -> None:
    """Neither hints nor clamps bring a routine forward to before its start."""
    first = Plan(NOON + HOUR, source)
    state = PlanState(trigger=trigger)
    assert plan_next(state, NOON, NOON) == first
    assert plan_next(replace(state, hint_next_at=NOON + MINUTE), NOON, NOON) == first
    assert plan_next(replace(state, max_interval_ms=60_000, min_interval_ms=1), NOON, NOON) == first


def test_after_the_end_nothing_is_planned() -> None:
    """The end is inclusive; past it the source says `ended`, hints or not."""
    cron = PlanState(trigger=CronTrigger(expression="0 * * * *", timezone="UTC", end_at=NOON + HOUR))
    assert plan_next(cron, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    assert plan_next(cron, NOON, NOON + HOUR) == Plan(None, Source.ENDED)
    hinted = replace(cron, hint_next_at=NOON + 2 * HOUR)
    assert plan_next(hinted, NOON, NOON + HOUR) == Plan(None, Source.ENDED)
    interval = PlanState(trigger=IntervalTrigger(interval_ms=600_000, anchor=NOON, end_at=NOON + 15 * MINUTE))
    assert plan_next(interval, NOON, NOON + 10 * MINUTE) == Plan(None, Source.ENDED)
