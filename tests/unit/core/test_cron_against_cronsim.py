"""Our cron against another implementation, and against brute force where that one cannot judge.

cronsim follows Debian's cron, and so do we: its rule for clock changes is ours for every expression of five fields.
It differs, on purpose, where there are seconds: those it always takes for elapsed time, we only where the minute or
the hour begins with `*`. They are compared in UTC. Where clocks change at midnight, by half an hour or off the full
hour, cronsim's wildcards give times that do not exist, or never return; there each minute's reading is looked up in
what cronsim says for the bare wall clock. What cronsim does not know at all (ranges that wrap, `15W`, `L-3`) is
compared with the same in its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, takewhile
from random import Random
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError

from routines_app.core.cron import next_fire, parse_cron
from routines_app.core.errors import InvalidValue

SIMPLE_ZONES = (
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Europe/London",
    "Asia/Kathmandu",
    "Australia/Adelaide",
)
AWKWARD_ZONES = (
    "Africa/Cairo",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
)
BATCHES, TRIPLES_PER_BATCH, FIRES = 6, 200, 8


def number(random: Random, low: int, high: int) -> str:
    return str(random.randint(low, high))


def span(random: Random, low: int, high: int) -> str:
    first = random.randint(low, high - 1)
    return f"{first}-{random.randint(first + 1, high)}"


def listed(random: Random, low: int, high: int) -> str:
    return ",".join(number(random, low, high) for _ in range(random.randint(2, 4)))


def starred(random: Random, low: int, high: int) -> str:
    return random.choice(("*", f"*/{random.randint(2, high)}"))


def plain(random: Random, low: int, high: int) -> str:
    return random.choice((number, span, listed))(random, low, high)


def days(random: Random) -> tuple[str, str, str]:
    """Day-of-month, month and day-of-week, restricted in every combination."""
    day = random.choice(("*", "*", starred(random, 1, 15), plain(random, 1, 31), "L", "1,L", "LW"))
    month = random.choice(("*", "*", plain(random, 1, 12), "FEB", "jan-jun", "*/3"))
    weekday = random.choice(("*", "*", plain(random, 0, 6), "MON-FRI", "7", "5-7", "5L", "2#1", "FRI#3", "*/2", "sun"))
    return day, month, weekday


def expression(random: Random) -> str:
    """An expression on whose meaning cronsim and we agree."""
    minute, hour = random.choice((starred, plain)), random.choice((starred, plain))
    return " ".join((minute(random, 0, 59), hour(random, 0, 22), *days(random)))


@cache
def clock_changes(zone: str, year: int) -> list[datetime]:
    """The midnights (UTC) of the year by which the offset has become another one since the day before."""
    nights = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(365)]
    offsets = [night.astimezone(ZoneInfo(zone)).utcoffset() for night in nights]
    return [nights[at] for at in range(1, len(nights)) if offsets[at] != offsets[at - 1]]


def their_fires(text: str, zone: str, after: datetime) -> list[datetime]:
    simulated = CronSim(text, after.astimezone(ZoneInfo(zone)))
    return [fire.astimezone(UTC) for _, fire in zip(range(FIRES), simulated, strict=False)]


def our_fires(text: str, zone: str, after: datetime, count: int = FIRES) -> list[datetime]:
    found: list[datetime] = []
    fire = next_fire(text, zone, after)
    while fire is not None and len(found) < count:
        found.append(fire)
        fire = next_fire(text, zone, fire)
    return found


def triples(seed: int) -> Iterator[tuple[str, str, int]]:
    """Expressions that can fire, with a timezone and a year."""
    random = Random(seed)
    while True:
        text, zone = expression(random), random.choice(SIMPLE_ZONES + AWKWARD_ZONES)
        with suppress(InvalidValue):
            parse_cron(text)
            yield text, zone, random.randint(1990, 2036)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_cron_agrees_with_cronsim(batch: int) -> None:
    """Twelve hundred generated expressions, timezones and years, from new year and before each change."""
    for text, zone, year in islice(triples(seed=batch), TRIPLES_PER_BATCH):
        starts = [datetime(year, 1, 1, tzinfo=UTC)]
        starts += [change - timedelta(hours=30) for change in clock_changes(zone, year)[:2]]
        elapsed = any(field.startswith("*") for field in text.split()[:2])
        judge = agrees_by_reading if zone in AWKWARD_ZONES and elapsed else agrees_by_cronsim
        for start in starts:
            assert judge(text, zone, start), (text, zone, start)


def agrees_by_cronsim(text: str, zone: str, start: datetime) -> bool:
    return our_fires(text, zone, start) == their_fires(text, zone, start)


def agrees_by_reading(text: str, zone: str, start: datetime) -> bool:
    """Whether exactly those minutes of a day and a half fire whose local reading matches."""
    minutes = [start + timedelta(minutes=at) for at in range(1, 36 * 60)]
    walls = [minute.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0) for minute in minutes]
    simulated = CronSim(text, min(walls) - timedelta(seconds=1))
    latest = max(walls)
    matching = set(takewhile(lambda wall: wall <= latest, simulated))
    expected = [minute for minute, wall in zip(minutes, walls, strict=True) if wall in matching]
    ours = our_fires(text, zone, start, len(expected))
    following = next_fire(text, zone, (expected or [start])[-1])
    return ours == expected and (following is None or following > minutes[-1])


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6 *"])
def test_what_never_fires_is_refused_by_both(text: str) -> None:
    """Two readings of the calendar, one verdict."""
    with pytest.raises(InvalidValue):
        parse_cron(text)
    with pytest.raises(CronSimError):
        CronSim(text, datetime(2024, 1, 1))


@pytest.mark.parametrize("text", ["30 15 1,2 * * *", "0/10 * 2 * * 0", "*/7 5 */3 * * *", "20-40/5 0 8-18/3 LW * *"])
def test_where_only_the_clock_rule_differs_cron_agrees_in_utc(text: str) -> None:
    """With seconds, which cronsim treats otherwise through clock changes, all is the same without any."""
    start = datetime(2024, 2, 28, tzinfo=UTC)
    assert our_fires(text, "UTC", start) == their_fires(text, "UTC", start)


UNKNOWN_TO_CRONSIM = {
    "7 22-4 * * *": "7 22,23,0-4 * * *",
    "50-5/5 1 * * *": "50,55,0,5 1 * * *",
    "0 0 * * FRI-MON": "0 0 * * 5,6,0,1",
    "0 3 * NOV-FEB *": "0 3 * 11,12,1,2 *",
    "0 0 ? * MON": "0 0 * * MON",
    "0 12 25-L * *": "0 12 25-31 * *",
    "*/20 2 28-2 * *": "*/20 2 28-31,1,2 * *",
    "0 9 * * MON-FRI#1": "0 9 * * 1#1,2#1,3#1,4#1,5#1",
    "0 9 31W * *": "0 9 LW * *",
    "30 2 L-3 2 *": "30 2 25 2 *",  # in a year of 365 days
}


@pytest.mark.parametrize("text", UNKNOWN_TO_CRONSIM)
def test_what_cronsim_does_not_know_is_what_it_knows_in_other_words(text: str) -> None:
    """Through both clock changes of a year."""
    with pytest.raises(CronSimError):
        CronSim(text, datetime(2023, 1, 1))
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        starts = [
            datetime(2023, 1, 1, tzinfo=UTC),
            *(change - timedelta(days=2) for change in clock_changes(zone, 2023)),
        ]
        for start in starts:
            theirs = [fire for fire in their_fires(UNKNOWN_TO_CRONSIM[text], zone, start) if fire.year == 2023]
            assert our_fires(text, zone, start)[: len(theirs)] == theirs


WALLS = {"0,20,40 2": ({0, 20, 40}, {2}), "0,20,40 1,2": ({0, 20, 40}, {1, 2}), "15 0-3": ({15}, {0, 1, 2, 3})}
STEPS = {"0 */2": ({0}, set(range(0, 24, 2))), "*/30 1/2": ({0, 30}, set(range(1, 24, 2)))}
CHANGING = ("America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Europe/London", "America/St_Johns")


@pytest.mark.parametrize("zone", CHANGING)
@pytest.mark.parametrize("clock", STEPS)
def test_a_leading_star_agrees_with_brute_force_through_clock_changes(zone: str, clock: str) -> None:
    """Each minute whose local reading matches is a fire, and no other is."""
    minutes, hours = STEPS[clock]
    for start, count in windows(zone):
        readings = [(start + timedelta(minutes=at)).astimezone(ZoneInfo(zone)) for at in range(1, count)]
        expected = [r.astimezone(UTC) for r in readings if r.minute in minutes and r.hour in hours]
        assert our_fires(f"{clock} * * *", zone, start, len(expected)) == expected


@pytest.mark.parametrize("zone", CHANGING)
@pytest.mark.parametrize("clock", WALLS)
def test_fixed_times_agree_with_brute_force_through_clock_changes(zone: str, clock: str) -> None:
    """Each wall time of each day is a fire: the first minute whose reading has reached it."""
    minutes, hours = WALLS[clock]
    for start, count in windows(zone):
        reached, expected = (start.astimezone(ZoneInfo(zone))).replace(tzinfo=None), []
        for at in range(1, count):
            moment = start + timedelta(minutes=at)
            reading = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
            passed = range(1, (reading - reached) // timedelta(minutes=1) + 1)
            walls = [reached + timedelta(minutes=step) for step in passed]
            if any(wall.minute in minutes and wall.hour in hours for wall in walls):
                expected.append(moment)
            reached = max(reached, reading)
        assert our_fires(f"{clock} * * *", zone, start, len(expected)) == expected


def windows(zone: str) -> list[tuple[datetime, int]]:
    """Three days around each clock change of 2024, in minutes."""
    return [(change - timedelta(days=2), 3 * 1440) for change in clock_changes(zone, 2024)]
