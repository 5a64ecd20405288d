"""The tables that croniter and cronsim test themselves by: where all read an expression, all say the same.

`tables/` has the facts, expressions and times. What is meant to differ is listed here, each with its reason; the
reasons are in docs/cron.md too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core import cron_differences
from routines_app.core.cron import next_fire, parse_cron
from routines_app.core.cron_differences import difference
from routines_app.core.errors import InvalidValue

TABLES = Path(__file__).parent / "tables"
NOW = datetime(2026, 11, 17, 10, tzinfo=UTC)


def rows(name: str) -> list[tuple[str, str, datetime, list[datetime]]]:
    lines = [line.split("\t") for line in (TABLES / name).read_text().splitlines() if not line.startswith("#")]
    return [(text, zone, moment(after), [moment(fire) for fire in fires.split()]) for text, zone, after, fires in lines]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ours(text: str, zone: str, after: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < count:
        fire = next_fire(text, zone, found[-1] if found else after)
        assert fire is not None
        found.append(fire)
    return found


@pytest.mark.parametrize(("name", "lines"), [("croniter.tsv", 206), ("cronsim.tsv", 39)])
def test_their_own_tables_are_ours(name: str, lines: int) -> None:
    """Each line, in its timezone, through the clock changes that they thought of."""
    table = rows(name)
    assert len(table) == lines
    wrong = [row for row in table if ours(*row[:3], len(row[3])) != row[3]]
    assert wrong == []


MEANT = {
    "0 16 */2 * sat": cron_differences.NARROWS,
    "30 23 1-7 JAN MON-FRI#1": cron_differences.NTH,
    "0 0 1 Apr-Mar/2 *": cron_differences.STEPS_ON,
    "0 0 * * Thu-Tue/2": cron_differences.STEPS_ON,
    "0 0 * * Sun-Sun": cron_differences.ONE_VALUE,
    "0 0 * * 7-7": cron_differences.ONE_VALUE,
    "0 9-9 * * *": cron_differences.ONE_VALUE,
    "0 0 1 12/4 *": cron_differences.ONE_VALUE,
    "0 0 31-L * *": cron_differences.ONE_VALUE,
    "0 9 15W * MON": cron_differences.NEAREST,
    "0 0 28,*/12 * 0-6": cron_differences.EVERY_DAY,
}


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant_to_differ_from_croniter_does_and_says_why(text: str) -> None:
    """The day that croniter changes its mind, this list is told."""
    iterated = croniter(text, NOW)
    theirs = [iterated.get_next(datetime) for _ in range(12)]
    assert ours(text, "UTC", NOW, 12) != theirs
    assert difference(text) == MEANT[text]


@pytest.mark.parametrize("text", ["0 0 * * *", "0 22-4 * * FRI-MON", "0 0 L-3 * *", "0 0 1 * MON", "@daily"])
def test_what_is_not_meant_to_differ_has_no_reason_to(text: str) -> None:
    """Then nobody knows why."""
    assert difference(text) == cron_differences.UNKNOWN


@pytest.mark.parametrize("text", ["0 0 * * L5", "0 9 W15 * *", "0 0 1 1 * 0 2030", "*/90 * * * *", "H * * * *"])
def test_what_croniter_reads_and_we_refuse(text: str) -> None:
    """Another order of letters, years, steps that never come round, hashed values."""
    with pytest.raises(InvalidValue):
        parse_cron(text)
    croniter.expand(text, hash_id=b"any")


PATTERNS = ["{} * * * *", "* {} * * *", "* * {} * *", "* * * {} *", "* * * * {}", "* * * * * {}", "1-{} * * * *"]
PATTERNS += ["{}-60 * * * *", "* * * {}-DEC *", "* * * JAN-{} *", "* * * * {}-SUN", "* * * * MON-{}"]
BAD_VALUES = ("-1", "61", "ABC", "2/", "/2", "2#", "#2", "1##1", "1//2", "\u00b9")


@pytest.mark.parametrize(("pattern", "value"), list(product(PATTERNS, BAD_VALUES)))
def test_what_cronsim_refuses_in_its_tests_is_refused(pattern: str, value: str) -> None:
    """Half-typed steps and numbers, wrong names, another script's digits, in every field."""
    with pytest.raises(InvalidValue):
        parse_cron(pattern.format(value))


@pytest.mark.parametrize("text", ["1-1_0 * * * *", "*/0 * * * *", "* * * * 5L-6", "* * * * 5L#1", "* * * * 5L/3"])
def test_other_refusals_of_cronsim_are_ours(text: str) -> None:
    """What is left of its list, but for what we read on purpose: `5-1` wraps, and `MONL` is the last Monday."""
    with pytest.raises(InvalidValue):
        parse_cron(text)


def item(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    step = st.integers(1, min(high, 12)).map(str)
    return st.one_of(
        number,
        st.builds("{}-{}".format, number, number),
        st.builds("{}-{}/{}".format, number, number, step),
        st.builds("{}/{}".format, number, step),
        st.builds("*/{}".format, step),
    )


def texts(low: int, high: int, *more: str) -> st.SearchStrategy[str]:
    lists = st.lists(item(low, high), min_size=1, max_size=3).map(",".join)
    return st.sampled_from(["*", *more]) | lists


EXPRESSIONS = st.builds(
    "{} {} {} {} {}".format,
    texts(0, 59),
    texts(0, 23),
    texts(1, 31, "?", "L", "15W", "31W", "1W", "25-L", "1,L", "1-31"),
    texts(1, 12, "NOV-FEB"),
    texts(0, 7, "?", "MON-FRI", "FRI-MON", "5#2", "MON-FRI#1", "0-6", "SUN", "SAT-SUN", "1-7", "FRI#5,MON#1"),
)


@given(EXPRESSIONS, st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))
def test_where_croniter_reads_it_the_fires_are_the_same_or_the_difference_is_known(text: str, after: datetime) -> None:
    """Of everything that both read, in UTC."""
    try:
        parse_cron(text)
        iterated = croniter(text, after, max_years_between_matches=8)
        theirs = [iterated.get_next(datetime) for _ in range(4)]
    except ValueError:  # one of the two does not
        return
    assert ours(text, "UTC", after, 4) == theirs or difference(text) != cron_differences.UNKNOWN
