"""The next fire as a function: later than asked, cached, bounded by the calendar."""

from __future__ import annotations

import math
import timeit
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.cron import next_fire, validate_timezone
from routines_app.core.errors import InvalidValue
from routines_app.core.triggers import CronTrigger, count_between, next_slot
from tests.unit.core.strategies import EXPRESSIONS, ZONES, instants


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), instants)
def test_the_next_fire_is_always_later(expression: str, zone: str, after: datetime) -> None:
    """Strictly later, in UTC, on a whole second."""
    fire = next_fire(expression, zone, after)
    assert fire is not None
    assert fire > after
    assert fire.tzinfo is UTC
    assert fire.microsecond == 0


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), instants, st.timedeltas(timedelta(0), timedelta(days=2)))
def test_asking_earlier_never_answers_later(expression: str, zone: str, after: datetime, earlier: timedelta) -> None:
    """No fire is hidden by where the question starts: every fire after `after` is one after an earlier moment."""
    first = next_fire(expression, zone, after - earlier)
    then = next_fire(expression, zone, after)
    assert first is not None
    assert then is not None
    assert first <= then
    if first > after:
        assert first == then


def test_the_moment_itself_is_not_its_next_fire() -> None:
    """Fractions of a second do not matter, and an aware time of any zone is understood."""
    nine = datetime(2024, 5, 1, 9, tzinfo=ZoneInfo("Europe/Berlin"))
    following = datetime(2024, 5, 2, 7, tzinfo=UTC)
    assert next_fire("0 9 * * *", "Europe/Berlin", nine) == following
    assert next_fire("0 9 * * *", "Europe/Berlin", nine + timedelta(microseconds=1)) == following
    assert next_fire("0 9 * * *", "Europe/Berlin", nine - timedelta(microseconds=1)) == nine


def test_the_two_passes_of_a_repeat_have_answers_of_their_own() -> None:
    """The same reading of Berlin's clock, an hour apart: what is asked first does not answer for the other."""
    first = datetime(2026, 10, 25, 2, 10, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert first == second  # as Python compares them, and so does a cache
    for after in (first, second, first):
        quarter = datetime(2026, 10, 25, after.fold, 15, tzinfo=UTC)
        assert next_fire("*/15 * * * *", "Europe/Berlin", after) == quarter
        trigger = CronTrigger(expression="*/15 * * * *", timezone="Europe/Berlin")
        assert next_slot(trigger, after) == quarter
        assert count_between(trigger, after, datetime(2026, 10, 25, 2, tzinfo=UTC)).count == 8 - 4 * after.fold


@pytest.mark.parametrize("expression", ["0 0 1 1 *", "0 */2 1 1 *"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("after", [datetime(9999, 12, 31, 23, 59, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_after_the_last_year_there_is_no_fire(expression: str, zone: str, after: datetime) -> None:
    """The calendar's end is an answer, not an exception."""
    assert next_fire(expression, zone, after) is None


def test_a_fire_that_was_just_computed_costs_next_to_nothing() -> None:
    """Under 20 microseconds for the same expression and slot, so a burst of routines is cheap to plan."""
    after = datetime(2024, 5, 1, tzinfo=UTC)
    best = min(timeit.repeat(lambda: next_fire("0 9 * * 1-5", "Europe/Berlin", after), number=1000, repeat=5))
    assert math.isfinite(best)
    assert best / 1000 < 20e-6


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "US/Eastern"])
def test_an_iana_name_is_a_timezone(name: str) -> None:
    """The name comes back as it was given."""
    assert validate_timezone(name) == name


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("Europe/Berlim", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/NewYork", "America/New_York"),
        ("", "Europe/Berlin"),
        ("../../etc/passwd", "Europe/Berlin"),
        ("localtime", "IANA"),
        ("+02:00", "IANA"),
        ("right/UTC", "IANA"),
        (None, "IANA"),
        (["UTC"], "IANA"),
    ],
)
def test_a_wrong_timezone_is_refused_with_the_closest_name(wrong: object, hint: str) -> None:
    """A slip of the keyboard is answered with what was probably meant."""
    with pytest.raises(InvalidValue) as refused:
        validate_timezone(wrong)  # type: ignore[arg-type]
    assert refused.value.field == "timezone"
    assert hint in refused.value.expected


def test_a_schedule_in_an_unknown_timezone_is_refused() -> None:
    """A row that somebody corrupted by SQL raises the same clear error when it is planned."""
    with pytest.raises(InvalidValue, match="timezone"):
        next_fire("0 9 * * *", "Mars/Olympus", datetime(2024, 5, 1, tzinfo=UTC))
