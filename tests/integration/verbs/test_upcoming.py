"""The fires to come, counted by the hour."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache

from routines_app.core.triggers import CronTrigger, slots_between
from routines_app.models import Routine
from routines_app.verbs import upcoming
from tests.browser.scenes import make_routine

pytestmark = pytest.mark.django_db

MAY = datetime(2027, 5, 1, 0, 17, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """The count is kept for a minute; each test starts without one."""
    upcoming._fires_per_hour.cache_clear()
    yield
    upcoming._fires_per_hour.cache_clear()


def counted(now: datetime = MAY) -> list[float]:
    cache.clear()
    upcoming._fires_per_hour.cache_clear()
    return [fires for _, fires in upcoming.fires_per_hour(now)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/New_York"])
@pytest.mark.parametrize(
    "cron", ["0,45 9 * * *", "* * * * *", "*/7 * * * *", "30 0,23 * * *", "0 0 * * *", "*/20 5 */6 * * *", "17 * * * *"]
)
def test_each_hour_holds_the_fires_of_its_schedule(cron: str, zone: str) -> None:
    """Also where the hours on the wall do not begin with those of UTC."""
    make_routine(cron=cron, timezone=zone)
    first, trigger = MAY.replace(minute=0), CronTrigger(expression=cron, timezone=zone)
    slots = slots_between(trigger, MAY, first + 24 * HOUR - timedelta(seconds=1)).slots
    places = [(slot - first) // HOUR for slot in slots]
    assert counted() == [places.count(place) for place in range(24)]


def test_the_days_of_a_change_of_the_clock_are_counted_once() -> None:
    """Berlin skips 02:00 to 03:00, so two times become one fire at 03:00."""
    make_routine(cron="0,30 2 * * *", timezone="Europe/Berlin")
    assert sum(counted(datetime(2027, 3, 27, 12, 0, tzinfo=UTC))) == 1


@pytest.mark.parametrize("fields", [{"cron": "0 * * * *", "timezone": "UTC"}, {"interval_ms": 3_600_000}])
def test_only_fires_between_start_and_end_are_counted(fields: dict[str, object]) -> None:
    """What has ended and what begins later than a day from now has none; bounds within the day cut it."""
    routine = Routine.objects.filter(pk=make_routine(**fields).pk)  # type: ignore[arg-type]
    whole = MAY.replace(minute=0)
    routine.update(end_at=MAY - timedelta(days=1))
    assert sum(counted()) == 0
    routine.update(end_at=None, start_at=MAY + timedelta(days=2))
    assert sum(counted()) == 0
    routine.update(start_at=whole + 3 * HOUR, end_at=whole + 6 * HOUR - timedelta(minutes=1))
    assert [round(fires, 1) for fires in counted()] == [0, 0, 0, 1, 1, 1, *[0] * 18]
    routine.update(start_at=MAY - timedelta(days=9), end_at=MAY + timedelta(days=9))
    assert [round(fires) for fires in counted()][1:] == [1] * 23


def test_alike_schedules_are_one_whatever_bounds_lie_outside_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many schedules are computed: bounds that cut nothing must not make two of one."""
    monkeypatch.setattr(upcoming, "SCHEDULES", 1)
    for number in range(3):
        make_routine(f"r{number}", cron="0 * * * *", timezone="UTC", start_at=MAY - timedelta(days=number + 1))
    assert counted()[1:] == [3] * 23


def test_the_coming_hours_are_counted_from_the_schedules() -> None:
    """Alike schedules are computed once and multiplied; pauses do not count."""
    for number in range(3):
        make_routine(f"hourly-{number}", cron="0,30 * * * *", timezone="UTC")
    make_routine("nightly", cron="15 3 * * *", timezone="UTC")
    make_routine("often", interval_ms=600_000)
    make_routine("paused", cron="* * * * *", status="PAUSED")
    Routine.objects.filter(pk=make_routine("broken").pk).update(cron="not a cron")
    hours = upcoming.fires_per_hour(datetime(2027, 5, 1, 0, 0, tzinfo=UTC))
    assert [round(fires) for _, fires in hours[:5]] == [9, 12, 12, 13, 12]  # the slot of this very minute has passed
    assert sum(fires for _, fires in hours) == 9 + 23 * 12 + 1
