"""The governor: baseline, hints, clamps, bounds, and statuses that decide alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.governor import Plan, PlanState, expired_hints, pace_hint, plan_next, restarts
from routines_app.core.triggers import CronTrigger, IntervalTrigger, ManualTrigger
from routines_app.core.words import HintKind, RoutineStatus, Source
from tests.unit.core.strategies import milliseconds, triggers

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
HOURLY = PlanState(trigger=CronTrigger(expression="0 * * * *", timezone="UTC"))
EVERY_10_MIN = PlanState(trigger=IntervalTrigger(interval_ms=600_000, anchor=NOON))
MANUAL = PlanState(trigger=ManualTrigger())

durations = st.none() | st.integers(1_000, 10**9)
moments = st.none() | milliseconds
states = st.builds(
    PlanState,
    trigger=triggers | st.just(ManualTrigger()),
    failure_count=st.integers(0, 50),
    clamps_from=moments,
    hint_interval_ms=durations,
    hint_interval_expires_at=moments,
    hint_next_at=moments,
    hint_next_expires_at=moments,
    hint_factor=st.none() | st.sampled_from([0.01, 0.5, 1.0, 2.0, 2.5, 7.0]),
    hint_factor_expires_at=moments,
)


def hinted(
    state: PlanState,
    *,
    interval: timedelta | None = None,
    at: datetime | None = None,
    factor: float | None = None,
    until: datetime = NOON + 9 * HOUR,
) -> PlanState:
    """The state with such hints, all of which expire then."""
    return replace(
        state,
        hint_interval_ms=None if interval is None else interval // MS,
        hint_interval_expires_at=None if interval is None else until,
        hint_next_at=at,
        hint_next_expires_at=None if at is None else until,
        hint_factor=factor,
        hint_factor_expires_at=None if factor is None else until,
    )


@given(states, milliseconds, milliseconds, durations, durations)
def test_the_answer_respects_the_clamps(
    state: PlanState, now: datetime, anchor: datetime, low: int | None, high: int | None
) -> None:
    """Never closer to the last scheduled slot than the minimum, never later than the maximum or now."""
    low, high = sorted((low, high)) if low is not None and high is not None else (low, high)
    state = replace(state, min_interval_ms=low, max_interval_ms=high)
    at, source = plan_next(state, now, anchor)
    if at is None:
        assert source is Source.MANUAL
        return
    if low is not None and state.clamps_from is not None:
        assert at >= state.clamps_from + timedelta(milliseconds=low)
    if high is not None and state.clamps_from is not None:
        assert at <= max(now, state.clamps_from + timedelta(milliseconds=high))


@given(states, milliseconds, milliseconds)
def test_no_hinted_moment_is_later_than_its_hint(state: PlanState, now: datetime, anchor: datetime) -> None:
    """Nor in the past."""
    at, source = plan_next(state, now, anchor)
    expiries = {
        Source.HINT_INTERVAL: state.hint_interval_expires_at,
        Source.HINT_FACTOR: state.hint_factor_expires_at,
        Source.HINT_ONESHOT: state.hint_next_expires_at,
    }
    if source in expiries:
        expires_at = expiries[source]
        assert at is not None
        assert expires_at is not None
        assert now <= at <= expires_at


@given(states, milliseconds, milliseconds)
def test_what_an_interval_plans_by_itself_is_on_its_grid(state: PlanState, now: datetime, anchor: datetime) -> None:
    """Whatever hints and failures there are."""
    at, source = plan_next(state, now, anchor)
    if source is Source.BASELINE_INTERVAL:
        assert isinstance(state.trigger, IntervalTrigger)
        assert at is not None
        assert (at - state.trigger.anchor) % timedelta(milliseconds=state.trigger.interval_ms) == timedelta()


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
    assert plan_next(hinted(replace(HOURLY, status=status), at=NOON), NOON, NOON) == Plan(None, source)


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
    assert plan_next(replace(HOURLY, failure_count=failures), NOON, NOON).next_run_at == NOON + HOUR


def test_backing_off_counts_slots_of_the_grid() -> None:
    """From wherever the last one was: a hint may have chosen a moment between them."""
    state = replace(EVERY_10_MIN, failure_count=1)
    assert plan_next(state, NOON, NOON + 7 * MINUTE).next_run_at == NOON + 20 * MINUTE


@pytest.mark.parametrize("state", [HOURLY, EVERY_10_MIN, MANUAL])
def test_a_fresh_interval_hint_replaces_the_baseline(state: PlanState) -> None:
    """Slower or faster than the baseline, for every trigger."""
    slow = hinted(state, interval=2 * HOUR)
    assert plan_next(slow, NOON, NOON) == Plan(NOON + 2 * HOUR, Source.HINT_INTERVAL)
    assert plan_next(hinted(state, interval=MINUTE), NOON, NOON) == Plan(NOON + MINUTE, Source.HINT_INTERVAL)


def test_a_past_interval_candidate_restarts_from_now() -> None:
    """A hint about the pace makes no backlog, and does not fire at once because the last slot is old."""
    fast = hinted(HOURLY, interval=MINUTE)
    assert plan_next(fast, NOON + 5 * HOUR, NOON) == Plan(NOON + 5 * HOUR + MINUTE, Source.HINT_INTERVAL)
    assert restarts(fast, NOON + MINUTE, NOON)
    assert not restarts(fast, NOON + MINUTE - MS, NOON)
    assert not restarts(fast, NOON + 9 * HOUR, NOON)
    assert not restarts(HOURLY, NOON + HOUR, NOON)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (HOURLY, Plan(NOON + 2 * HOUR, Source.BASELINE_CRON)),
        (EVERY_10_MIN, Plan(NOON + 100 * MINUTE, Source.BASELINE_INTERVAL)),
        (MANUAL, Plan(None, Source.MANUAL)),
    ],
)
def test_a_slow_hint_holds_a_routine_at_most_to_the_first_slot_after_its_expiry(
    state: PlanState, expected: Plan
) -> None:
    """The next moment would be at 18:00; the hint ends at 13:30. Before it, baseline slots are ignored."""
    slow = hinted(state, interval=6 * HOUR, until=NOON + 90 * MINUTE)
    assert plan_next(slow, NOON, NOON) == expected
    assert plan_next(slow, NOON + 3 * HOUR, NOON) == expected, "also when it is over and nobody has dropped it yet"


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
    assert plan_next(hinted(HOURLY, at=NOON + minutes * MINUTE), NOON, NOON) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (100, Plan(NOON + 100 * MINUTE, Source.HINT_ONESHOT)),
        (150, Plan(NOON + 2 * HOUR, Source.HINT_INTERVAL)),
    ],
)
def test_with_both_hints_the_earlier_wins_and_the_baseline_is_ignored(minutes: int, expected: Plan) -> None:
    """The baseline at 13:00 would be earlier than both, and does not count."""
    both = hinted(HOURLY, interval=2 * HOUR, at=NOON + minutes * MINUTE)
    assert plan_next(both, NOON, NOON) == expected


def test_an_expired_hint_is_ignored() -> None:
    """It ends at the very moment it expires; each by itself."""
    all_over = hinted(HOURLY, interval=MINUTE, at=NOON, factor=2.0, until=NOON)
    assert plan_next(all_over, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    assert expired_hints(all_over, NOON) == (HintKind.INTERVAL, HintKind.NEXT, HintKind.FACTOR)
    assert expired_hints(all_over, NOON - MS) == expired_hints(HOURLY, NOON) == ()
    one_over = replace(all_over, hint_next_at=NOON + MINUTE, hint_next_expires_at=NOON + HOUR)
    assert plan_next(one_over, NOON, NOON) == Plan(NOON + MINUTE, Source.HINT_ONESHOT)
    assert expired_hints(one_over, NOON) == (HintKind.INTERVAL, HintKind.FACTOR)


def test_a_value_without_an_expiry_is_no_hint() -> None:
    """The database has none."""
    state = replace(HOURLY, hint_interval_ms=60_000, hint_next_at=NOON, hint_factor=2.0)
    assert plan_next(state, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)


def test_a_manual_routine_sleeps_until_it_is_hinted() -> None:
    """It has no baseline; a one-shot hint gives it a time, and there is nothing that a factor could multiply."""
    assert plan_next(MANUAL, NOON, NOON) == Plan(None, Source.MANUAL)
    assert plan_next(hinted(MANUAL, at=NOON + MINUTE), NOON, NOON) == Plan(NOON + MINUTE, Source.HINT_ONESHOT)
    assert plan_next(hinted(MANUAL, factor=5.0), NOON, NOON) == Plan(None, Source.MANUAL)


@pytest.mark.parametrize(
    ("state", "factor", "minutes"),
    [
        (HOURLY, 1.0, 60),
        (HOURLY, 5.0, 300),
        (HOURLY, 1.4, 60),
        (EVERY_10_MIN, 5.0, 50),
        (EVERY_10_MIN, 0.5, 5),
        (EVERY_10_MIN, 1.5, 15),
        (replace(EVERY_10_MIN, failure_count=2), 0.5, 20),
        (hinted(MANUAL, interval=4 * MINUTE), 2.5, 10),
        (replace(EVERY_10_MIN, trigger=IntervalTrigger(interval_ms=1_000, anchor=NOON)), 0.01, 1 / 60),
    ],
)
def test_a_factor_multiplies_the_pace(state: PlanState, factor: float, minutes: float) -> None:
    """Of an interval, its back-off or a hinted one; of a cron it is every n-th slot. Never less than a second."""
    until = NOON + 9 * HOUR
    slower = replace(state, hint_factor=factor, hint_factor_expires_at=until)
    assert plan_next(slower, NOON, NOON) == Plan(NOON + minutes * MINUTE, Source.HINT_FACTOR)


def test_a_factor_that_counts_slots_stays_on_the_grid() -> None:
    """From a last slot between them; and past ones are not counted again."""
    slower = hinted(EVERY_10_MIN, factor=3.0)
    assert plan_next(slower, NOON, NOON + 4 * MINUTE).next_run_at == NOON + 30 * MINUTE
    assert plan_next(slower, NOON + 45 * MINUTE, NOON).next_run_at == NOON + 70 * MINUTE


def test_a_factor_beyond_its_expiry_leaves_what_comes_after_it() -> None:
    """The fifth slot would be at 17:00. Of two hints about the pace, what is left when one ends goes on."""
    slower = hinted(HOURLY, factor=5.0, until=NOON + 150 * MINUTE)
    assert plan_next(slower, NOON, NOON) == Plan(NOON + 3 * HOUR, Source.BASELINE_CRON)
    both = replace(hinted(HOURLY, interval=20 * MINUTE), hint_factor=5.0, hint_factor_expires_at=NOON + HOUR)
    assert plan_next(both, NOON, NOON) == Plan(NOON + 80 * MINUTE, Source.HINT_INTERVAL)
    ended = replace(slower, trigger=replace(HOURLY.trigger, end_at=NOON + 2 * HOUR))
    assert plan_next(ended, NOON, NOON) == Plan(None, Source.ENDED)


def test_a_pace_beyond_the_calendar_is_never_reached() -> None:
    """The longest interval times the largest factor is later than any date."""
    state = hinted(PlanState(trigger=IntervalTrigger(interval_ms=10**12 - 1, anchor=NOON)), factor=999.5)
    assert plan_next(state, NOON, NOON).source is Source.BASELINE_INTERVAL
    assert pace_hint(state) is not None
