"""Another clock's time, carried on between readings: jumps are seen, and it never runs backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.carried_time import JUMP_SECONDS, Carried, Jump, Reading, confirms, follow

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SMALL = st.floats(-JUMP_SECONDS, JUMP_SECONDS)
PASSED = st.floats(0, 3600)
ROUNDING = timedelta(microseconds=2)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_it_goes_on_with_the_steady_clock():
    carried = Carried(Reading(NOON, at=100.0))
    assert [carried.at(100.0), carried.at(3700.5)] == [NOON, at(3600.5)]


def test_a_reading_that_agrees_within_what_it_can_know_changes_nothing():
    known = Carried(Reading(NOON, at=0.0))
    assert follow(known, Reading(at(30.01), at=30.0, within=0.02)) is known


def test_a_clock_that_is_behind_is_put_right_at_once():
    reading = Reading(at(30.4), at=30.0)
    assert follow(Carried(Reading(NOON, at=0.0)), reading) == Carried(reading)


def test_a_clock_that_is_ahead_is_slowed_down_until_the_other_has_caught_up():
    carried = follow(Carried(Reading(NOON, at=0.0)), Reading(at(29.6), at=30.0))
    assert isinstance(carried, Carried)
    assert [carried.at(30.0), carried.at(30.4), carried.at(30.8), carried.at(60.0)] == [
        at(30.0),
        at(30.2),
        at(30.4),
        at(59.6),
    ]


def test_what_is_far_away_is_a_jump_in_both_directions():
    known = Carried(Reading(NOON, at=0.0))
    assert follow(known, Reading(at(3630), at=30.0)) == Jump(3600.0)
    assert follow(known, Reading(at(-3570), at=30.0)) == Jump(-3600.0)


def test_a_first_reading_that_took_long_is_corrected_and_not_called_a_jump():
    known = Carried(Reading(NOON, at=0.0, within=5.0))
    assert isinstance(follow(known, Reading(at(34), at=30.0, within=0.001)), Carried)


def test_a_machine_that_was_suspended_while_it_asked_learns_nothing():
    known = Carried(Reading(NOON, at=0.0))
    assert follow(known, Reading(at(1800), at=3600.0, within=1800.0)) is known


def test_a_second_reading_confirms_a_jump_or_does_not():
    first = Reading(at(3600), at=30.0)
    assert confirms(first, Reading(at(3600.1), at=30.1))
    assert not confirms(first, Reading(at(0.1), at=30.1))


@given(off=st.lists(st.tuples(PASSED, SMALL), max_size=8), steps=st.lists(st.floats(0, 5), min_size=1, max_size=20))
def test_time_never_runs_backwards_whatever_small_errors_the_readings_have(
    off: list[tuple[float, float]], steps: list[float]
):
    """Between readings and over them."""
    carried, steady = Carried(Reading(NOON, at=0.0)), 0.0
    told = carried.at(steady)
    for passed, error in off:
        steady += passed
        followed = follow(carried, Reading(at(steady + error), at=steady))
        carried = carried if isinstance(followed, Jump) else followed
        for step in (0.0, *sorted(steps)):
            assert carried.at(steady + step) >= told - ROUNDING
            told = max(told, carried.at(steady + step))
        steady += max(steps)


@given(error=SMALL, passed=PASSED)
def test_a_reading_is_believed_before_long(error: float, passed: float):
    """However small its error is, and whichever way it points."""
    reading = Reading(at(passed + error), at=passed)
    carried = follow(Carried(Reading(NOON, at=0.0)), reading)
    if isinstance(carried, Carried):
        later = passed + 2 * JUMP_SECONDS
        assert abs(carried.at(later) - (reading.time + timedelta(seconds=later - passed))) <= ROUNDING
