"""Generated schedules of Celery's, carried: by its own computation and by ours they fire at the same moments."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedule
from django_celery_beat.tzcrontab import TzAwareCrontab
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue
from routines_app.core.triggers import CronTrigger, IntervalTrigger
from routines_app.verbs.moving.celery_schedule import trigger_fields
from routines_app.verbs.moving.comparing import Comparison, compare
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler
from routines_app.verbs.moving.old_fires import MOST, old_fires

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "Monday", "sunday")
MONTHS = ("jan", "feb", "march", "dec")


def items(low: int, high: int, *names: str) -> st.SearchStrategy[str]:
    value = st.integers(low, high).map(str)
    named = st.sampled_from(names) if names else value
    spans = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda ends: f"{ends[0]}-{ends[1]}")
    steps = st.tuples(st.one_of(st.just("*"), spans), st.integers(1, (high - low) or 1)).map(
        lambda two: f"{two[0]}/{two[1]}"
    )
    return st.one_of(value, named, spans, steps)


def fields(low: int, high: int, *names: str) -> st.SearchStrategy[str]:
    """As people write them: a star, a value, a range that may wrap, a step, or a list of these."""
    listed = st.lists(items(low, high, *names), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), listed)


CRONTABS = st.fixed_dictionaries(
    {
        "minute": fields(0, 59),
        "hour": fields(0, 23),
        "day_of_month": fields(1, 31),
        "month_of_year": fields(1, 12, *MONTHS),
        "day_of_week": fields(0, 6, *WEEKDAYS),
    }
)
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


def compared(when: crontab, now: datetime) -> tuple[Comparison, str]:
    said = trigger_fields(when, "UTC")
    trigger = CronTrigger(expression=said["cron"], timezone=said["timezone"])
    entry = OldEntry(
        scheduler=OldScheduler.DJANGO_CELERY_BEAT, key="report", task="report", schedule=when, last_run_at=now
    )
    return compare(entry, old_fires(entry, now), trigger, now), said["cron"]


@settings(deadline=None)
@given(fields=CRONTABS, now=MOMENTS)
def test_a_crontab_fires_as_celery_computes_it_or_is_refused(fields: dict[str, str], now: datetime) -> None:
    """In UTC, where no clock changes. What is refused restricts both kinds of days."""
    try:
        when = TzAwareCrontab(**fields, tz=UTC)
    except (ValueError, KeyError):
        assume(False)
    restricts_both = len(when.day_of_month) < 31 and len(when.day_of_week) < 7
    with suppress(InvalidValue) if restricts_both else nullcontext():
        found, cron = compared(when, now)
        assert found.differences == (), cron
        assert found.compared == MOST


@settings(deadline=None)
@given(
    fields=CRONTABS,
    now=st.datetimes(datetime(2024, 3, 25), datetime(2024, 4, 5), timezones=st.just(UTC)),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]),
    half_a_year=st.booleans(),
)
def test_where_clocks_change_each_difference_says_so(
    fields: dict[str, str], now: datetime, zone: str, half_a_year: bool
) -> None:
    try:
        when = TzAwareCrontab(**fields, tz=ZoneInfo(zone))
        found, cron = compared(when, now + timedelta(days=210 if half_a_year else 0))
    except (ValueError, KeyError):
        assume(False)
    for difference in found.differences:
        assert difference.reason.startswith(f"clocks in {zone} change at "), (cron, difference)


@settings(deadline=None)
@given(
    every=st.timedeltas(timedelta(seconds=1), timedelta(days=40)).map(
        lambda length: length - timedelta(microseconds=length.microseconds % 1000)
    ),
    now=MOMENTS,
    ago=st.timedeltas(timedelta(0), timedelta(days=39)),
)
def test_an_interval_fires_as_celery_counts_it(every: timedelta, now: datetime, ago: timedelta) -> None:
    """From its last run on; one that is overdue counts from now."""
    when = schedule(every, nowfun=lambda: now)
    entry = OldEntry(scheduler=OldScheduler.REDBEAT, key="a", task="a", schedule=when, last_run_at=now - ago)

    old = old_fires(entry, now)

    assert (old.overdue_since is not None) == (every <= ago)
    start = now if every <= ago else now - ago + every
    trigger = IntervalTrigger(interval_ms=every // timedelta(milliseconds=1), anchor=start, start_at=start)
    found = compare(entry, old, trigger, now)
    assert (found.compared, found.differences) == (MOST, ())


@pytest.mark.parametrize(
    ("days", "cron"),
    [
        ({"day_of_month": "1-7", "day_of_week": "mon"}, "0 9 * * 1#1"),
        ({"day_of_month": "1-7,15-21", "day_of_week": "mon,fri"}, "0 9 * * 1#1,1#3,5#1,5#3"),
        ({"day_of_month": "*/2", "day_of_week": "monday"}, "0 9 */2 * 1"),
        ({"day_of_month": "1-31", "day_of_week": "fri-sun"}, "0 9 * * fri-sun"),
        ({"day_of_month": "13", "day_of_week": "0-6"}, "0 9 13 * *"),
    ],
)
def test_days_that_have_to_match_both_fields_are_said_in_another_way(days: dict[str, str], cron: str) -> None:
    """Ours match either, unless one begins with a star; numbered weekdays say the rest."""
    now = datetime(2026, 3, 2, 10, tzinfo=UTC)

    found, said = compared(crontab(minute="0", hour="9", **days), now)

    assert (said, found.differences) == (cron, ())


def test_a_relative_interval_of_days_differs_where_clocks_change() -> None:
    """Celery rounds it to midnight on the wall; between two changes ours is the same."""
    app = Celery(set_as_current=False)
    app.conf.timezone = "Europe/Berlin"
    when = schedule(timedelta(days=1), relative=True, app=app)
    now = datetime(2026, 3, 20, 10, tzinfo=ZoneInfo("Europe/Berlin"))
    entry = OldEntry(scheduler=OldScheduler.DJANGO_CELERY_BEAT, key="a", task="a", schedule=when, last_run_at=now)
    old = old_fires(entry, now)
    assert old.first == datetime(2026, 3, 21, tzinfo=ZoneInfo("Europe/Berlin"))
    trigger = IntervalTrigger(interval_ms=86_400_000, anchor=old.first, start_at=old.first)

    found = compare(entry, old, trigger, now)

    first = found.differences[0]
    assert first.old == datetime(2026, 3, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    assert first.reason == "Celery rounds a relative interval to its unit on the wall clock; ours is elapsed time"
    hourly = schedule(timedelta(hours=1), relative=True, app=app)
    entry = replace(entry, schedule=hourly)
    old = old_fires(entry, now)
    assert old.first is not None
    trigger = IntervalTrigger(interval_ms=3_600_000, anchor=old.first, start_at=old.first)
    assert compare(entry, old, trigger, now).differences == ()


def test_what_only_one_of_them_has_stands_alone() -> None:
    """A schedule of the project's own class is named as the reason."""

    class Often(schedule):
        pass

    now = datetime(2026, 3, 2, 10, tzinfo=UTC)
    entry = OldEntry(scheduler=OldScheduler.REDBEAT, key="a", task="a", schedule=Often(86_400), last_run_at=now)
    old = old_fires(entry, now)
    half_as_often = IntervalTrigger(interval_ms=2 * 86_400_000, anchor=now, start_at=now)

    found = compare(entry, old, half_as_often, now)

    assert [(row.old, row.ours) for row in found.differences[:2]] == [
        (now + timedelta(days=1), None),
        (now + timedelta(days=3), None),
    ]
    assert {row.reason for row in found.differences} == {
        "its schedule is of a class of the project's own, " + Often.__qualname__
    }
