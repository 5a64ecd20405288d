"""Entries of other schedulers, read as they are: one that cannot be read keeps none of the others away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedule, solar
from pytest_django import Settings
from redbeat import RedBeatSchedulerEntry
from redbeat.schedules import rrule

from routines_app.core.errors import NotAllowed
from routines_app.verbs.moving.old_entries import OldScheduler, Problem
from routines_app.verbs.moving.reading import read_entries
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.old_schedulers import AddEntry

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.django_db
def test_a_crontab_of_django_celery_beat_has_its_own_timezone_and_all_options(add_entry: AddEntry) -> None:
    """What its beat would send, with the schedule object that it would ask."""
    add_entry(
        "report",
        crontab={"minute": "30", "hour": "2", "timezone": BERLIN},
        args="[1]",
        kwargs='{"shop": 7}',
        queue="slow",
        exchange="other",
        routing_key="key",
        priority=4,
        headers='{"tenant": "a"}',
        expire_seconds=90,
        start_time=MONDAY,
        last_run_at=MONDAY,
        description="Sums up.",
    )

    (entry,) = read_entries(OldScheduler.DJANGO_CELERY_BEAT).entries

    assert (entry.key, entry.task, entry.args, entry.kwargs) == ("report", NOTE, [1], {"shop": 7})
    assert (entry.schedule.tz, entry.schedule._orig_hour) == (BERLIN, "2")
    assert entry.options == {
        "queue": "slow",
        "exchange": "other",
        "routing_key": "key",
        "priority": 4,
        "headers": {"tenant": "a"},
        "expires": 90,
    }
    assert (entry.enabled, entry.start_at, entry.last_run_at, entry.description) == (True, MONDAY, MONDAY, "Sums up.")


@pytest.mark.django_db
def test_rows_that_cannot_be_read_are_named_and_the_others_read(add_entry: AddEntry) -> None:
    """And nothing is written: django-celery-beat itself would disable them."""
    broken = add_entry("broken", interval={"every": 1, "period": "hours"}, kwargs="{")
    add_entry("list", interval={"every": 1, "period": "hours"}, kwargs="[1]")
    add_entry("fine", interval={"every": 1, "period": "hours"})

    read = read_entries(OldScheduler.DJANGO_CELERY_BEAT)

    assert [entry.key for entry in read.entries] == ["fine"]
    assert [problem.key for problem in read.problems] == ["broken", "list"]
    assert read.problems[0].why.startswith("its kwargs are no JSON: ")
    assert read.problems[1] == Problem(key="list", why="its kwargs are no JSON object")
    broken.refresh_from_db()
    assert broken.enabled


@pytest.mark.django_db
def test_a_solar_event_is_read_without_a_library_of_astronomy(add_entry: AddEntry) -> None:
    """That it cannot be carried is said later, as of any other."""
    add_entry("sunset", solar={"event": "sunset", "latitude": 52.5, "longitude": 13.4})

    read = read_entries(OldScheduler.DJANGO_CELERY_BEAT)

    (entry,) = read.entries
    assert isinstance(entry.schedule, solar)
    assert "sunset" in repr(entry.schedule)
    assert read.problems == ()


def test_a_scheduler_that_is_not_installed_is_refused_with_the_way_out(settings: Settings) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_celery_beat"]

    with pytest.raises(NotAllowed, match="add django_celery_beat to INSTALLED_APPS"):
        read_entries(OldScheduler.DJANGO_CELERY_BEAT)


def test_entries_of_redbeat_are_read_by_its_keys(redbeat_app: Celery) -> None:
    """As its beat reads them, with the last run that it has written down."""
    ran_at = datetime(2026, 3, 2, 9, 0, 7, 5, tzinfo=UTC)
    saved = RedBeatSchedulerEntry(
        "report",
        NOTE,
        crontab(minute="0", hour="9"),
        args=[1],
        kwargs={"shop": 7},
        options={"queue": "slow"},
        app=redbeat_app,
    ).save()
    saved.reschedule(last_run_at=ran_at)
    RedBeatSchedulerEntry("often", NOTE, schedule(90), enabled=False, app=redbeat_app).save()
    RedBeatSchedulerEntry("rule", NOTE, rrule("DAILY", dtstart=MONDAY), app=redbeat_app).save()

    read = read_entries(OldScheduler.REDBEAT)

    often, report, rule = read.entries
    assert (report.key, report.task, report.args, report.kwargs) == ("report", NOTE, [1], {"shop": 7})
    assert (report.schedule._orig_hour, report.options, report.last_run_at) == ("9", {"queue": "slow"}, ran_at)
    assert (often.enabled, often.schedule.run_every) == (False, timedelta(seconds=90))
    assert isinstance(rule.schedule, rrule)
    assert read.problems == ()


def test_keys_of_redbeat_that_cannot_be_read_are_named(redbeat_app: Celery, redis_client) -> None:
    """One without a definition, one that is no hash, one that is no JSON."""
    RedBeatSchedulerEntry("fine", NOTE, schedule(90), app=redbeat_app).save()
    redis_client.zadd("old::schedule", {"old:gone": 1, "old:text": 2, "old:broken": 3, "old:task": 4})
    redis_client.set("old:text", "no hash")
    redis_client.hset("old:broken", "definition", "{")
    redis_client.hset("old:task", "definition", json.dumps({"name": "task"}))

    read = read_entries(OldScheduler.REDBEAT)

    assert [entry.key for entry in read.entries] == ["fine"]
    why = {problem.key: problem.why for problem in read.problems}
    assert why["gone"] == why["text"] == "its key has no definition any more, and redbeat would forget it"
    assert why["broken"].startswith("Expecting property name")
    assert why["task"] == "it has no 'task'"


def test_a_redis_that_is_away_is_one_clear_error(redbeat_app: Celery) -> None:
    redbeat_app.conf.redbeat_redis_url = "redis://127.0.0.1:1/0"

    with pytest.raises(NotAllowed, match="its Redis cannot be asked: ConnectionError"):
        read_entries(OldScheduler.REDBEAT)
