"""What we take for the old scheduler's computation, beside its own entries asked as its beat asks them.

The beat is played with a clock that jumps from look to look; everything that decides is the real package's.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedule
from redbeat import RedBeatSchedulerEntry
from redbeat.schedules import rrule

from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.moving.old_fires import old_fires
from routines_app.verbs.moving.reading import read_entries
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.old_schedulers import AddEntry

BERLIN = ZoneInfo("Europe/Berlin")
HOURLY = {"every": 1, "period": "hours"}
AT_NINE = {"minute": "0", "hour": "9"}
HALF_PAST_TWO = {"minute": "30", "hour": "2", "timezone": BERLIN}
LONGEST_SLEEP = timedelta(days=400)
FIRES = 8


class Clock:
    def __init__(self) -> None:
        self.at = MONDAY

    def now(self, tz: Any = None) -> datetime:
        return self.at.astimezone(tz or UTC)


def played(entry: Any, clock: Clock) -> list[datetime]:
    """The moments at which a beat sends the entry, from now on."""
    sent: list[datetime] = []
    for _ in range(5 * FIRES):
        is_due, seconds = entry.is_due()
        if is_due:
            sent.append(clock.at)
            if len(sent) == FIRES:
                break
            entry = next(entry)
            continue
        if seconds is None or timedelta(seconds=seconds) > LONGEST_SLEEP:
            break
        # A beat wakes a little late, never early.
        clock.at += timedelta(seconds=seconds) + timedelta(microseconds=1)
    return sent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """All that django-celery-beat and Celery read the time from."""
    from django_celery_beat import clockedschedule, models, schedulers, tzcrontab

    clock = Clock()

    class Standing(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return clock.now(tz)

    monkeypatch.setattr(tzcrontab, "datetime", Standing)
    monkeypatch.setattr(models, "now", clock.now)
    monkeypatch.setattr(schedulers.ModelEntry, "_default_now", lambda entry: clock.now(entry.app.timezone))
    monkeypatch.setattr(clockedschedule.clocked, "now", lambda schedule: clock.now())
    monkeypatch.setattr(Celery, "now", lambda app: clock.now())
    return clock


@pytest.mark.parametrize(
    "values",
    [
        {"crontab": AT_NINE, "last_run_at": MONDAY},
        {"crontab": AT_NINE, "last_run_at": MONDAY - timedelta(days=3)},
        {"crontab": HALF_PAST_TWO, "last_run_at": datetime(2026, 3, 26, 2, 30, tzinfo=BERLIN), "now": (3, 26)},
        {"crontab": HALF_PAST_TWO, "last_run_at": datetime(2026, 10, 22, 2, 30, tzinfo=BERLIN), "now": (10, 22)},
        {
            "crontab": {"minute": "*/20", "timezone": BERLIN},
            "last_run_at": datetime(2026, 10, 25, tzinfo=UTC),
            "now": (10, 25),
        },
        {"crontab": AT_NINE, "start_time": MONDAY + timedelta(days=3), "date_changed": MONDAY},
        {"crontab": AT_NINE, "expires": MONDAY + timedelta(days=3), "last_run_at": MONDAY},
        {"crontab": AT_NINE, "one_off": True, "last_run_at": MONDAY},
        {"interval": HOURLY, "last_run_at": MONDAY - timedelta(minutes=20)},
        {"interval": HOURLY, "last_run_at": MONDAY - timedelta(hours=20)},
        {"interval": HOURLY, "date_changed": MONDAY - timedelta(minutes=20)},
        {"interval": HOURLY, "start_time": MONDAY + timedelta(days=3), "date_changed": MONDAY},
        {"interval": HOURLY, "start_time": MONDAY - timedelta(days=3), "date_changed": MONDAY},
        {"interval": HOURLY, "expires": MONDAY + timedelta(hours=3), "last_run_at": MONDAY},
        {"clocked": {"clocked_time": MONDAY + timedelta(days=3)}, "one_off": True, "date_changed": MONDAY},
        {"clocked": {"clocked_time": MONDAY - timedelta(days=3)}, "one_off": True, "date_changed": MONDAY},
    ],
    ids=str,
)
@pytest.mark.django_db
def test_django_celery_beat_sends_when_we_say_that_it_does(
    values: dict[str, Any], add_entry: AddEntry, clock: Clock
) -> None:
    """To the millisecond by which its beat wakes late, which adds up where it counts from each send."""
    from django_celery_beat.models import PeriodicTask
    from django_celery_beat.schedulers import ModelEntry

    if "now" in values:
        month, day = values["now"]
        clock.at = datetime(2026, month, day, 0, 40, tzinfo=UTC)
    begin = clock.at
    add_entry("report", **{name: value for name, value in values.items() if name != "now"})
    (entry,) = read_entries(OldScheduler.DJANGO_CELERY_BEAT).entries
    old = old_fires(entry, begin)

    sent = played(ModelEntry(PeriodicTask.objects.get()), clock)

    expected = [begin] * (old.overdue_since is not None) + list(old.fires)
    assert len(sent) == min(FIRES, len(expected))
    for moment, said in zip(sent, expected, strict=False):
        assert timedelta(0) <= moment - said < timedelta(seconds=1.01), (sent, expected)


@pytest.mark.parametrize(
    ("when", "ran_at"),
    [
        (crontab(minute="0", hour="9"), MONDAY),
        (crontab(minute="0", hour="9"), MONDAY - timedelta(days=3)),
        (schedule(3600), MONDAY - timedelta(minutes=20)),
        (schedule(3600), MONDAY - timedelta(hours=20)),
        (schedule(3600), None),
        (rrule("DAILY", dtstart=MONDAY, count=5), MONDAY),
    ],
    ids=str,
)
def test_redbeat_sends_when_we_say_that_it_does(
    when: Any, ran_at: datetime | None, redbeat_app: Celery, clock: Clock
) -> None:
    saved = RedBeatSchedulerEntry("report", NOTE, when, app=redbeat_app)
    saved.last_run_at = ran_at
    saved.save()
    (entry,) = read_entries(OldScheduler.REDBEAT).entries
    begin = clock.at
    old = old_fires(entry, begin)

    sent = played(RedBeatSchedulerEntry.from_key("old:report", app=redbeat_app), clock)

    expected = [begin] * (old.overdue_since is not None) + list(old.fires)
    assert len(sent) == min(FIRES, len(expected))
    for moment, said in zip(sent, expected, strict=False):
        assert timedelta(0) <= moment - said < timedelta(seconds=1.01), (sent, expected)
