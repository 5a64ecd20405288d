"""Golden tests: what each kind of schedule does when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from routines_app.core.cron import next_fire


def local_fires(expression: str, zone: str, since: str, until: str) -> list[str]:
    """The fires in (since, until], both UTC, as local readings with their offset."""
    at, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (since, until))
    found = []
    while (fire := next_fire(expression, zone, at)) is not None and fire <= end:
        local = fire.astimezone(ZoneInfo(zone))
        found.append(f"{local:%d %H:%M %z}")
        at = fire
    return found


NEW_YORK_GAP = ("America/New_York", "2024-03-10T00:00", "2024-03-11T12:00")  # 02:00 becomes 03:00 on the 10th
NEW_YORK_FOLD = ("America/New_York", "2024-11-03T00:00", "2024-11-04T12:00")  # 02:00 becomes 01:00 on the 3rd
BERLIN_GAP = ("Europe/Berlin", "2024-03-30T12:00", "2024-04-01T06:00")  # 02:00 becomes 03:00 on the 31st
BERLIN_FOLD = ("Europe/Berlin", "2024-10-26T12:00", "2024-10-28T06:00")  # 03:00 becomes 02:00 on the 27th
LORD_HOWE_GAP = ("Australia/Lord_Howe", "2024-10-05T00:00", "2024-10-06T20:00")  # 02:00 becomes 02:30 on the 6th
LORD_HOWE_FOLD = ("Australia/Lord_Howe", "2024-04-06T00:00", "2024-04-07T20:00")  # 02:00 becomes 01:30 on the 7th
CAIRO_GAP = ("Africa/Cairo", "2024-04-25T00:00", "2024-04-26T22:00")  # 00:00 becomes 01:00 on the 26th
CAIRO_FOLD = ("Africa/Cairo", "2024-10-30T22:00", "2024-11-01T12:00")  # 24:00 of the 31st becomes 23:00
SAO_PAULO_GAP = ("America/Sao_Paulo", "2017-10-14T12:00", "2017-10-16T12:00")  # 00:00 becomes 01:00 on the 15th
SAO_PAULO_FOLD = ("America/Sao_Paulo", "2018-02-17T12:00", "2018-02-19T01:00")  # 24:00 of the 17th becomes 23:00


@pytest.mark.parametrize(
    ("expression", "change", "expected"),
    [
        ("30 2 * * *", NEW_YORK_GAP, ["10 03:00 -0400", "11 02:30 -0400"]),
        ("0 2 * * *", NEW_YORK_GAP, ["10 03:00 -0400", "11 02:00 -0400"]),
        ("0 3 * * *", NEW_YORK_GAP, ["10 03:00 -0400", "11 03:00 -0400"]),
        ("30 2 * * *", BERLIN_GAP, ["31 03:00 +0200", "01 02:30 +0200"]),
        ("15 2 * * *", LORD_HOWE_GAP, ["06 02:30 +1100", "07 02:15 +1100"]),
        ("30 2 * * *", LORD_HOWE_GAP, ["06 02:30 +1100", "07 02:30 +1100"]),
        ("30 0 * * *", CAIRO_GAP, ["26 01:00 +0300", "27 00:30 +0300"]),
        ("0 0 * * *", CAIRO_GAP, ["26 01:00 +0300", "27 00:00 +0300"]),
        ("0 0 * * *", SAO_PAULO_GAP, ["15 01:00 -0200", "16 00:00 -0200"]),
        ("0 0 15 10 *", SAO_PAULO_GAP, ["15 01:00 -0200"]),
    ],
)
def test_a_fixed_time_inside_the_gap_fires_at_the_first_instant_after_it(
    expression: str, change: tuple[str, str, str], expected: list[str]
) -> None:
    """The day's fire is neither lost nor early, whatever the size of the shift and the hour of the day."""
    assert local_fires(expression, *change) == expected


def test_several_fixed_times_inside_one_gap_fire_once() -> None:
    """02:00, 02:20, 02:40 and 03:00 are one instant on that morning: one slot."""
    found = local_fires("0,20,40 2,3 * * *", "America/New_York", "2024-03-10T00:00", "2024-03-10T12:00")
    assert found == ["10 03:00 -0400", "10 03:20 -0400", "10 03:40 -0400"]


@pytest.mark.parametrize(
    ("expression", "change", "expected"),
    [
        ("30 1 * * *", NEW_YORK_FOLD, ["03 01:30 -0400", "04 01:30 -0500"]),
        ("0 2 * * *", NEW_YORK_FOLD, ["03 02:00 -0500", "04 02:00 -0500"]),
        ("30 2 * * *", BERLIN_FOLD, ["27 02:30 +0200", "28 02:30 +0100"]),
        ("45 1 * * *", LORD_HOWE_FOLD, ["07 01:45 +1100", "08 01:45 +1030"]),
        ("30 23 * * *", CAIRO_FOLD, ["31 23:30 +0300"]),
        ("0 0 * * *", CAIRO_FOLD, ["01 00:00 +0200"]),
        ("30 23 * * *", SAO_PAULO_FOLD, ["17 23:30 -0200"]),
        ("0,30 1 * * *", NEW_YORK_FOLD, ["03 01:00 -0400", "03 01:30 -0400", "04 01:00 -0500", "04 01:30 -0500"]),
    ],
)
def test_a_fixed_time_inside_the_repeat_fires_the_first_time_only(
    expression: str, change: tuple[str, str, str], expected: list[str]
) -> None:
    """A clock that shows 01:30 twice does not run the nightly job twice."""
    assert local_fires(expression, *change) == expected


def test_asking_between_the_two_passes_does_not_repeat_a_fixed_time() -> None:
    """A beat that starts in the second pass of the repeat plans tomorrow's fire."""
    second_pass = datetime(2024, 11, 3, 6, 10, tzinfo=UTC)  # 01:10 for the second time
    assert next_fire("30 1 * * *", "America/New_York", second_pass) == datetime(2024, 11, 4, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "change",
    [
        NEW_YORK_GAP,
        NEW_YORK_FOLD,
        BERLIN_GAP,
        BERLIN_FOLD,
        LORD_HOWE_GAP,
        LORD_HOWE_FOLD,
        CAIRO_GAP,
        CAIRO_FOLD,
        SAO_PAULO_GAP,
        SAO_PAULO_FOLD,
        ("UTC", "2024-03-30T12:00", "2024-04-01T06:00"),
    ],
)
@pytest.mark.parametrize(("expression", "minutes"), [("*/15 * * * *", 15), ("*/30 * * * *", 30), ("* * * * *", 1)])
def test_every_so_many_minutes_stays_that_through_each_change(
    expression: str, minutes: int, change: tuple[str, str, str]
) -> None:
    """Wildcard hours follow elapsed time, in zones that shift by 30 minutes too."""
    zone, since, until = change
    at, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (since, until))
    expected = []
    moment = at + timedelta(minutes=minutes)
    while moment <= end:
        expected.append(moment)
        moment += timedelta(minutes=minutes)
    found = []
    while (fire := next_fire(expression, zone, at)) is not None and fire <= end:
        found.append(fire)
        at = fire
    assert found == expected


@pytest.mark.parametrize("change", [NEW_YORK_GAP, NEW_YORK_FOLD, BERLIN_GAP, BERLIN_FOLD, CAIRO_GAP, CAIRO_FOLD])
def test_hourly_fires_every_elapsed_hour(change: tuple[str, str, str]) -> None:
    """Whole-hour shifts neither double nor drop an hourly run."""
    zone, since, until = change
    at, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (since, until))
    found = [at]
    while (fire := next_fire("@hourly", zone, found[-1])) is not None and fire <= end:
        found.append(fire)
    assert {later - earlier for earlier, later in pairwise(found[1:])} == {timedelta(hours=1)}


@pytest.mark.parametrize(
    ("expression", "zone", "since", "until", "expected"),
    [
        (
            "0 */2 * * *",
            "America/New_York",
            "2024-03-10T04:00",
            "2024-03-10T10:30",
            ["10 00:00 -0500", "10 04:00 -0400", "10 06:00 -0400"],
        ),
        (
            "0 */2 * * *",
            "America/New_York",
            "2024-11-03T03:00",
            "2024-11-03T09:30",
            ["03 00:00 -0400", "03 02:00 -0500", "03 04:00 -0500"],
        ),
        (
            "*/30 1-23/2 * * *",
            "America/New_York",
            "2024-11-03T04:30",
            "2024-11-03T08:30",
            [
                "03 01:00 -0400",
                "03 01:30 -0400",
                "03 01:00 -0500",
                "03 01:30 -0500",
                "03 03:00 -0500",
                "03 03:30 -0500",
            ],
        ),
        (
            "0 * * * *",
            "Australia/Lord_Howe",
            "2024-04-06T13:00",
            "2024-04-06T16:30",
            ["07 01:00 +1100", "07 02:00 +1030", "07 03:00 +1030"],
        ),
        (
            "0 * * * *",
            "Australia/Lord_Howe",
            "2024-10-05T14:00",
            "2024-10-05T17:00",
            ["06 01:00 +1030", "06 03:00 +1100", "06 04:00 +1100"],
        ),
    ],
)
def test_a_leading_star_matches_what_the_clock_reads(
    expression: str, zone: str, since: str, until: str, expected: list[str]
) -> None:
    """It fires at each instant whose local reading matches: both passes of a repeat, none in a gap."""
    assert local_fires(expression, zone, since, until) == expected


QUARTERS = ("00", "15", "30", "45")


def test_every_quarter_of_an_hour_of_the_night_has_no_hole_in_autumn() -> None:
    """`*/15 0-6` in Berlin: 32 fires, each a quarter after the one before it, over both passes of 2 o'clock."""
    at, found = datetime(2026, 10, 24, 20, tzinfo=UTC), []
    for _ in range(32):
        fire = next_fire("*/15 0-6 * * *", "Europe/Berlin", at)
        assert fire is not None
        found.append(at := fire)
    assert found[0] == datetime(2026, 10, 24, 22, tzinfo=UTC)  # midnight
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=15)}
    assert found[-1] == datetime(2026, 10, 25, 5, 45, tzinfo=UTC)  # a quarter to seven


def test_every_quarter_of_the_hour_that_comes_twice_fires_eight_times() -> None:
    """`*/15 2` in Berlin's autumn: four in each pass."""
    found = local_fires("*/15 2 * * *", "Europe/Berlin", "2026-10-24T20:00", "2026-10-25T20:00")
    assert found == [f"25 02:{minute} {offset}" for offset in ("+0200", "+0100") for minute in QUARTERS]


def test_every_quarter_of_the_hour_that_never_comes_does_not_fire() -> None:
    """`*/15 2` in Berlin's spring: nothing on that day, four on the day before and after."""
    found = local_fires("*/15 2 * * *", "Europe/Berlin", "2026-03-27T20:00", "2026-03-30T20:00")
    before, after = (
        [f"{day} 02:{minute} {offset}" for minute in QUARTERS] for day, offset in (("28", "+0100"), ("30", "+0200"))
    )
    assert found == before + after


SPRING, AUTUMN = ["29 00:00 +0100", "29 03:00 +0200", "29 04:00 +0200"], ["25 00:00 +0200", "25 02:00 +0200"]
FIRST_PASS = [f"25 02:{minute} +0200" for minute in QUARTERS]


@pytest.mark.parametrize(
    ("expression", "spring", "autumn"),
    [
        ("0,15,30,45 2 * * *", ["29 03:00 +0200"], FIRST_PASS),
        ("0/15 2 * * *", ["29 03:00 +0200"], FIRST_PASS),
        ("0-59/15 2 * * *", ["29 03:00 +0200"], FIRST_PASS),
        ("0 0-23/2 * * *", SPRING, AUTUMN),
        ("0 0/2 * * *", SPRING, AUTUMN),
        ("0 2,*/2 * * *", SPRING, AUTUMN),
        ("0 */2 * * *", ["29 00:00 +0100", "29 04:00 +0200"], [*AUTUMN, "25 02:00 +0100"]),
        ("0 */2,3 * * *", SPRING, [*AUTUMN, "25 02:00 +0100"]),
        ("*/30 30 2 * * *", ["29 03:00 +0200"], ["25 02:30 +0200"] * 2),
        ("30 2-2 * * *", ["29 03:00 +0200"], ["25 02:30 +0200"]),
        ("30 23-2/3 * * *", ["28 23:30 +0100", "29 03:00 +0200"], ["24 23:30 +0200", "25 02:30 +0200"]),
    ],
)
def test_only_a_leading_star_in_minute_or_hour_means_elapsed_time(
    expression: str, spring: list[str], autumn: list[str]
) -> None:
    """As Debian's cron has it: a step without a star, a star behind a comma and a star of seconds name wall times."""
    assert local_fires(expression, "Europe/Berlin", "2026-03-28T22:00", "2026-03-29T02:59") == spring
    assert local_fires(expression, "Europe/Berlin", "2026-10-24T21:00", "2026-10-25T01:59") == autumn


def test_a_day_that_a_country_skipped_fires_when_the_next_begins() -> None:
    """Samoa had no 30 December 2011: a fixed time of that day fires at the first instant of the 31st."""
    found = local_fires("0 9 * * *", "Pacific/Apia", "2011-12-29T00:00", "2012-01-01T00:00")
    assert found == ["29 09:00 -1000", "31 00:00 +1400", "31 09:00 +1400", "01 09:00 +1400"]


def test_step_hours_survive_a_skipped_day() -> None:
    """Samoa again, for a schedule that follows elapsed time."""
    found = local_fires("0 */12 * * *", "Pacific/Apia", "2011-12-29T10:00", "2011-12-31T12:00")
    assert found == ["29 12:00 -1000", "31 00:00 +1400", "31 12:00 +1400", "01 00:00 +1400"]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])
@pytest.mark.parametrize(("expression", "hour"), [("0 12 25 12 *", 12), ("0 */6 25 12 *", 0)])
def test_a_rare_schedule_keeps_its_wall_time_over_the_changes_between(zone: str, expression: str, hour: int) -> None:
    """A fire that is a year and two changes of the offset away is computed with the offset that holds then."""
    fire = next_fire(expression, zone, datetime(2023, 12, 25, 20, tzinfo=ZoneInfo(zone)))
    assert fire is not None
    assert fire.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == datetime(2024, 12, 25, hour)
