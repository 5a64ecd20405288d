"""What a schedule says in words and when it fires never contradict each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from routines_app import service
from routines_app.admin.cron_phrases import cron_in_words
from routines_app.core.triggers import CronTrigger
from tests.unit.admin.cron_reading import promised_by
from tests.unit.core.strategies import EXPRESSIONS, ZONES, seconds

FIRES = 12
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def _field(low: int, high: int, *others: str) -> st.SearchStrategy[str]:
    """One field as people write it: everything, values, ranges that may wrap, steps, lists of those."""
    number = st.integers(low, high).map(str)
    span = st.tuples(number, number).map("-".join)
    stepped = st.tuples(st.just("*") | number | span, st.integers(1, high).map(str)).map("/".join)
    one = st.one_of(number, span, stepped, *map(st.just, others))
    return st.one_of(st.just("*"), number, stepped, one, st.lists(one, min_size=2, max_size=4).map(",".join))


NUMBERED = [f"{name}#{nth}" for name in WEEKDAY_NAMES for nth in range(1, 6)]
written = st.builds(
    lambda second, *fields: " ".join(filter(None, (second, *fields))),
    st.sampled_from(["", "", "", "0", "30"]) | _field(0, 59),
    _field(0, 59),
    _field(0, 23),
    st.just("*") | st.just("?") | _field(1, 31, "L", "L-1", "L-3", "25-L", "1W", "15W", "30W", "LW"),
    st.just("*") | _field(1, 12),
    st.just("*") | st.just("?") | st.just("1-5") | _field(0, 7, "5L", "MONL", "MON-FRI#1", *NUMBERED),
)


def _told(expression: str) -> str:
    """The sentence about a valid expression that has one."""
    try:
        service.clean_value("cron", expression)
    except service.InvalidValue:
        assume(False)
    words = cron_in_words(expression)
    assume(words != expression)
    return words


@settings(deadline=None)
@example("0 0 13 * FRI", "UTC", datetime(2026, 11, 1, tzinfo=UTC))
@example("*/40 * * * *", "Europe/Berlin", datetime(2026, 11, 1, tzinfo=UTC))
@example("0 */7 * * *", "Asia/Kathmandu", datetime(2026, 11, 1, tzinfo=UTC))
@example("0 9 */2 * MON", "UTC", datetime(2026, 11, 1, tzinfo=UTC))
@given(st.sampled_from(EXPRESSIONS) | written, st.sampled_from(ZONES), seconds)
def test_each_fire_is_promised_and_each_promise_is_a_fire(expression: str, zone_name: str, now: datetime) -> None:
    """The next fires are what the words say, and between two of them the words promise nothing.

    Days on which the clock changes are left out: what they do to a schedule is told by the warnings of the preview.
    """
    promised, zone = promised_by(_told(expression)), ZoneInfo(zone_name)
    trigger, at = CronTrigger(expression=expression, timezone=zone_name), now
    for _ in range(FIRES):
        fire = service.next_slot(trigger, at)
        if fire is None:
            break
        changes = list(service.clock_changes(zone, at - DAY, fire + DAY))
        assert promised(_wall(fire, zone)) or _changes(fire, changes), fire
        wrong = [one for one in _between(at, fire) if promised(_wall(one, zone)) and not _changes(one, changes)]
        assert not wrong, (at, wrong, fire)
        at = fire


def _between(after: datetime, before: datetime) -> set[datetime]:
    """Instants between two fires: each second next to them, each minute of some hours, and days at the same time."""
    near = [after + SECOND * n for n in range(1, 62)] + [before - SECOND * n for n in range(1, 62)]
    hours = [after + timedelta(minutes=n) for n in range(1, 180)] + [
        before - timedelta(minutes=n) for n in range(1, 180)
    ]
    days = [before - DAY * n for n in range(1, 400)]
    same_hours = [before - timedelta(hours=n) for n in range(1, 72)]
    return {one for one in near + hours + days + same_hours if after < one < before}


def _changes(at: datetime, changes: list[datetime]) -> bool:
    return any(abs(at - change) < DAY for change in changes)


def _wall(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


@pytest.mark.parametrize(
    "words", ["Every 40 minutes", "Every 5 minutes past noon", "At minutes x", "At 09:00, on the 1st of Never"]
)
def test_a_sentence_that_nobody_understands_is_an_error(words: str) -> None:
    """Or the test above would believe whatever it is told."""
    with pytest.raises((AssertionError, ValueError)):
        promised_by(words)
