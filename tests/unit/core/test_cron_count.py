"""Counting fires: the same as listing them, in every zone and through every change of the clock, at no cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routines_app.core import cron, zones
from routines_app.core.cron import next_fire
from routines_app.core.cron_count import count_fires, last_fire
from routines_app.core.triggers import CronTrigger, Span, count_between, slot_at
from tests.unit.core.strategies import EXPRESSIONS, ZONES

MORE_ZONES = (*ZONES, "America/Asuncion", "Africa/Casablanca", "America/Havana", "Asia/Beirut", "Antarctica/Troll")
MORE_EXPRESSIONS = (
    *EXPRESSIONS,
    "*/7 1-5 * * MON#2",
    "0 0 * * *",
    "59 23 * * *",
    "0 0-23 * * *",
    "5 0,1,22,23 * * 5L",
    "* * 0-2 * * *",
    "*/13 */17 * * * *",
    "*/15 2 * * *",
    "*/15 0-6 * * *",
    "7 22-4/3 * * *",
    "55-5/5 0-3 * * FRI-MON",
    "0 2 15W,LW * ?",
    "30 2 L-3 * MON-FRI#1",
    "*/20 1,2 25-L NOV-MAR *",
)
APIA_SKIPS_A_DAY = datetime(2011, 12, 30, 10, tzinfo=UTC)


@st.composite
def stretches(draw: st.DrawFn) -> tuple[str, datetime, datetime]:
    """A zone and a time in it, more often than not around a change of its clock."""
    zone = draw(st.sampled_from(MORE_ZONES))
    year = draw(st.integers(1995, 2035))
    changes = zones.clock_changes(
        ZoneInfo(zone), datetime(year, 1, 1, tzinfo=UTC), datetime(year + 2, 1, 1, tzinfo=UTC)
    )
    middle = draw(st.sampled_from(changes or [datetime(year, 6, 1, tzinfo=UTC)]))
    near = st.sampled_from([0, 1, 1_799, 1_800, 3_599, 3_600, 86_400]) | st.integers(0, 200_000)
    after = middle + draw(st.sampled_from([-1, -1, 1])) * timedelta(seconds=draw(near))
    after += timedelta(microseconds=draw(st.sampled_from([0, 1, 999_999])))
    return zone, after, after + timedelta(seconds=draw(near))


def listed(expression: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    """The fires one by one: what counting has to agree with."""
    found: list[datetime] = []
    fire = next_fire(expression, zone, after)
    while fire is not None and fire <= until and len(found) < 5_000:
        found.append(fire)
        fire = next_fire(expression, zone, fire)
    return found


@given(st.sampled_from(MORE_EXPRESSIONS), stretches())
@example("0 8,9 * * *", ("Pacific/Apia", APIA_SKIPS_A_DAY - timedelta(days=1), APIA_SKIPS_A_DAY + timedelta(days=1)))
@example("0 * * * *", ("Pacific/Apia", APIA_SKIPS_A_DAY - timedelta(days=1), APIA_SKIPS_A_DAY + timedelta(days=1)))
def test_counting_is_listing(expression: str, stretch: tuple[str, datetime, datetime]) -> None:
    """How many, and which is the last, through gaps, repeats, half hours and a day that never was."""
    zone, after, until = stretch
    fires = listed(expression, zone, after, until)
    if len(fires) == 5_000:  # enough of them; the rest would only take long to list
        until = fires[-1]
    assert count_fires(expression, zone, after, until) == len(fires)
    assert last_fire(expression, zone, after, until) == (fires[-1] if fires else None)


@given(st.sampled_from(MORE_EXPRESSIONS), stretches(), st.integers(0, 4_999))
def test_a_place_in_a_span_is_the_slot_in_the_list(
    expression: str, stretch: tuple[str, datetime, datetime], place: int
) -> None:
    """Whichever slot is asked for by its place, it is the one that listing has there."""
    zone, after, until = stretch
    fires = listed(expression, zone, after, until)
    if not fires:
        return
    trigger = CronTrigger(expression=expression, timezone=zone)
    span = Span(first=fires[0], last=fires[-1], count=len(fires))
    assert count_between(trigger, after, fires[-1]) == span
    assert slot_at(trigger, span, place % len(fires)) == fires[place % len(fires)]


@given(
    st.sampled_from(MORE_EXPRESSIONS),
    st.sampled_from(MORE_ZONES),
    st.datetimes(datetime(1995, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(0), timedelta(days=3_650)),
    st.floats(0, 1),
)
def test_years_in_two_parts_are_the_years_at_once(
    expression: str, zone: str, after: datetime, length: timedelta, share: float
) -> None:
    """Over spans that nobody could list: wherever they are cut, nothing is counted twice or lost."""
    until, between = after + length, after + length * share
    parts = count_fires(expression, zone, after, between) + count_fires(expression, zone, between, until)
    assert count_fires(expression, zone, after, until) == parts


TEN_YEARS = (datetime(2015, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("expression", "zone", "count"),
    [
        ("* * * * * *", "UTC", 3_653 * 86_400),
        ("* * * * * *", "Europe/Berlin", 3_653 * 86_400),  # elapsed time: what spring takes, autumn gives back
        ("* * * * *", "America/New_York", 3_653 * 1_440),
        (
            "* * 2 * * *",
            "Europe/Berlin",
            3_653 * 3_600,
        ),  # an hour that the clock skips has none, one that comes twice two
        ("0-59 0-59 2 * * *", "Europe/Berlin", 3_653 * 3_600 - 10 * 3_599),  # wall times: a gap makes one fire of them
        ("*/15 2 * * *", "Europe/Berlin", 3_653 * 4),
        ("0 0 LW * *", "UTC", 120),
        ("0 0 1W,15W,L-3 * *", "UTC", 360),
        ("0 22-4/2 * * FRI-MON#1", "UTC", 120 * 4 * 4),
        ("0 30 2 * * *", "Europe/Berlin", 3_653),
        ("*/7 1-5 * * MON#2", "UTC", 120 * 5 * 9),
    ],
)
def test_ten_years_are_counted_in_few_steps(
    expression: str, zone: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fire is visited, and no more of the calendar than its months."""
    months: list[tuple[int, int]] = []
    matching_days = cron._matching_days

    def counted(parsed: cron.CronExpression, year: int, month: int) -> tuple[int, ...]:
        months.append((year, month))
        return matching_days(parsed, year, month)

    monkeypatch.setattr(cron, "_matching_days", counted)
    monkeypatch.setattr(cron, "next_fire", None)
    assert count_fires(expression, zone, *TEN_YEARS) == count
    assert len(months) < 600


def test_the_last_fire_is_found_from_behind() -> None:
    """29 February on a Monday: decades back, and not before what was asked for."""
    until = datetime(2051, 12, 31, tzinfo=UTC)
    last = last_fire("0 0 29 2 */7", "UTC", datetime(1995, 1, 1, tzinfo=UTC), until)
    assert last == datetime(2032, 2, 29, tzinfo=UTC)
    assert last_fire("0 0 29 2 */7", "UTC", last, until) is None


def test_what_a_gap_has_swallowed_can_be_the_last_fire() -> None:
    """Half past two does not exist in Berlin on that day: it fires when the clock goes on, at three."""
    after = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert last_fire("30 2 * * *", "Europe/Berlin", after, after + timedelta(days=1)) == datetime(
        2026, 3, 29, 1, tzinfo=UTC
    )


def test_the_calendar_has_a_beginning_and_an_end() -> None:
    """Nothing matches before its first day, and nobody looks for changes of the clock in its last year."""
    assert cron.parse_cron("0 0 1 2 *").last_before(datetime(1, 1, 1)) is None
    berlin, begin = ZoneInfo("Europe/Berlin"), datetime(9998, 12, 1, tzinfo=UTC)
    assert zones.clock_changes(berlin, begin, datetime(9999, 12, 30, tzinfo=UTC)) == []
