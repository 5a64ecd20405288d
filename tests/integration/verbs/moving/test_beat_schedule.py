"""Entries of a static `beat_schedule` as routines: they behave as Celery runs them, or are refused with the way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from celery.schedules import crontab, schedule, solar
from kombu import Exchange, Queue
from pytest_django import Settings

from routines_app import service
from routines_app.beat import checks
from routines_app.beat.declared import Declarations
from routines_app.models import Pool, Routine, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.verbs.moving.beat_schedule import read_beat_schedule

TASK = "tests.acceptance.tasks.note"
EVERY = {"task": TASK, "schedule": 60}
SUNSET = solar.__new__(solar)  # to make one needs a library of astronomy
SUNSET.event, SUNSET.lat, SUNSET.lon = "sunset", 52.5, 13.4


def app(**entries: Any) -> Celery:
    made = Celery("declaring", set_as_current=False)
    made.conf.update(beat_schedule=entries, timezone="Europe/Berlin", result_expires=None)
    return made


def imported(**entry: Any) -> Routine:
    """The routine of an entry, after a beat has started."""
    Declarations(app(report=EVERY | entry)).sync(clock.now())
    return Routine.objects.get(name="report")


def refusal(entry: Any) -> str:
    found = read_beat_schedule(app(report=entry))
    assert not found.fields
    return found.refused["report"]


AS_CELERY_RUNS_IT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"max_attempts": 1, "timeout_ms": 0, "expires_ms": None, "options": None, "queue": ""}),
    ({"time_limit": 60}, {"timeout_ms": 60_000}),
    ({"time_limit": 60, "soft_time_limit": 50.5}, {"timeout_ms": 60_000}),
    ({"soft_time_limit": 50.5}, {"timeout_ms": 50_500}),
    ({"soft_time_limit": 0.5}, {"timeout_ms": 1_000}),
    ({"time_limit": 86_400}, {"timeout_ms": 86_400_000}),
    ({"time_limit": timedelta(hours=25)}, {"timeout_ms": 0}),
    ({"time_limit": 1e20}, {"timeout_ms": 0}),
    ({"expires": 90.0005}, {"expires_ms": 90_000}),
    ({"time_limit": None}, {"timeout_ms": 0}),
    ({"expires": 90}, {"expires_ms": 90_000}),
    ({"expires": timedelta(minutes=2)}, {"expires_ms": 120_000}),
    (
        {"expires": datetime(2030, 1, 2, tzinfo=UTC)},
        {"expires_ms": None, "end_at": datetime(2030, 1, 2, tzinfo=UTC)},
    ),
    ({"expires": datetime(2030, 1, 2)}, {"end_at": datetime(2030, 1, 1, 23, tzinfo=UTC)}),
    ({"expires": "2030-01-02T00:00:00+00:00"}, {"end_at": datetime(2030, 1, 2, tzinfo=UTC)}),
    ({"queue": "slow"}, {"queue": "slow", "options": None}),
    ({"queue": Queue("slow")}, {"queue": "slow"}),
    ({"priority": 0}, {"options": {"priority": 0}}),
    ({"headers": {"tenant": "a"}}, {"options": {"headers": {"tenant": "a"}}}),
    (
        {"exchange": Exchange("media"), "routing_key": "video"},
        {"options": {"exchange": "media", "routing_key": "video"}},
    ),
    ({"routine": {"max_attempts": 3, "timeout_ms": "5m"}}, {"max_attempts": 3, "timeout_ms": 300_000}),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("options", "fields"), AS_CELERY_RUNS_IT)
def test_an_entry_is_what_celery_would_run(
    redis_client: redis.Redis, options: dict[str, Any], fields: dict[str, Any]
) -> None:
    """One attempt, no limit that nobody asked for, and its own options."""
    routine = imported(options=options)
    assert {name: getattr(routine, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("every", "milliseconds"),
    [
        (timedelta(seconds=100) / 3, 33_333),
        (1.0005, 1_000),
        (schedule(timedelta(seconds=2) / 3 * 2), 1_333),
        (60, 60_000),
    ],
)
def test_an_interval_is_rounded_to_the_millisecond(every: Any, milliseconds: int) -> None:
    """Celery's beat is not that precise itself."""
    found = read_beat_schedule(app(report=EVERY | {"schedule": every}))
    assert found.fields["report"]["every"] == timedelta(milliseconds=milliseconds)


@pytest.mark.django_db(transaction=True)
def test_a_routine_key_sets_policies(redis_client: redis.Redis) -> None:
    """Any field that is not said by the entry itself; here a row of the ledger, too."""
    Pool.objects.create(name="narrow", max_concurrent=1)
    policies = {"concurrency_policy": "forbid", "pool": "narrow", "tags": ["a"], "timezone": "Asia/Tokyo"}
    routine = imported(schedule=crontab(minute="5"), routine=policies)
    assert (routine.concurrency_policy, routine.pool and routine.pool.name) == ("FORBID", "narrow")
    assert (routine.tags, routine.timezone, routine.cron, routine.max_attempts) == (["a"], "Asia/Tokyo", "5 * * * *", 1)


REFUSED: list[tuple[Any, str]] = [
    (EVERY | {"schedule": SUNSET}, "solar events are not supported; fire often"),
    (EVERY | {"schedule": 0.5}, "give a second or more, and let the task itself repeat"),
    (EVERY | {"schedule": schedule(timedelta(milliseconds=999))}, "give a second or more"),
    (
        EVERY | {"schedule": crontab(day_of_month="1", day_of_week="mon")},
        "not both, and let the task look at the other",
    ),
    (EVERY | {"schedule": "hourly"}, "give a crontab, a number of seconds"),
    (EVERY | {"schedule": True}, "give a crontab, a number of seconds"),
    ({"schedule": 60}, "it has no 'task'"),
    (EVERY | {"task": 7}, "registered name of a Celery task"),
    (EVERY | {"args": [object()]}, "JSON values only"),
    (EVERY | {"options": {"time_limit": "1m"}}, "time_limit: '1m' is not accepted: give seconds or a timedelta"),
    (EVERY | {"options": {"time_limit": -1}}, "timeout_ms: "),
    (EVERY | {"options": {"expires": True}}, "give seconds or a timedelta"),
    (EVERY | {"options": {"priority": "high"}}, "priority: give a whole number"),
    (EVERY | {"options": {"headers": {"a": object()}}}, "headers: JSON values only"),
    (EVERY | {"options": {"queue": "unacked"}}, "queue: 'unacked' is not accepted"),
    (EVERY | {"routine": {"max_atempts": 3}}, "max_atempts: 3 is not accepted: did you mean max_attempts"),
    (EVERY | {"routine": {"max_attempts": 0}}, "max_attempts: 0 is not accepted"),
    (EVERY | {"routine": {"cron": "* * * * *"}}, "routine.cron: '* * * * *' is not accepted: the entry says it itself"),
    (EVERY | {"routine": {"status": "PAUSED"}}, "pause_routine"),
    (EVERY | {"options": {"routine": ["FORBID"]}}, "give fields of the routine"),
    (None, "entry: None is not accepted: give a dictionary with a task and a schedule"),
    (EVERY | {"schedule": 1e15}, "OverflowError"),
    (EVERY | {"options": {"expires": float("inf")}}, "OverflowError"),
]


@pytest.mark.parametrize(("entry", "told"), REFUSED)
def test_what_cannot_be_imported_says_why_and_what_to_do(entry: Any, told: str) -> None:
    """No database is asked for that: `check` says the same."""
    assert told in refusal(entry)


def test_check_names_the_entries_and_what_is_not_carried() -> None:
    """An error for what is not imported, a warning for options that have no effect."""
    odd = EVERY | {"options": {"countdown": 5, "link": [], "serializer": "pickle", "queue": "slow"}}
    made = app(good=EVERY, sunset=EVERY | {"schedule": SUNSET}, odd=odd)
    error, warning = checks._messages(made)
    assert (error.id, warning.id) == ("routines.E016", "routines.W016")
    assert "'sunset' is not imported" in error.msg
    assert "'odd' has options that are not carried: countdown, link, serializer." in warning.msg


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"time_limit": 60, "soft_time_limit": 50}, "not carried: soft_time_limit (the time-out is its time_limit;"),
        ({"time_limit": 90_000}, "not carried: time_limit (a time-out is at most a day;"),
        ({"soft_time_limit": float("inf")}, "not carried: soft_time_limit (a time-out is at most a day;"),
    ],
)
def test_check_names_limits_that_do_not_hold(options: dict[str, Any], told: str) -> None:
    (warning,) = checks._messages(app(report=EVERY | {"options": options}))
    assert warning.id == "routines.W016"
    assert told in warning.msg


def test_check_says_what_is_wrong_with_a_schedule_that_is_none(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = app()
    made.conf.beat_schedule = 7
    monkeypatch.setattr(checks, "app_or_default", lambda: made)
    (error,) = checks.check_beat_schedule()
    assert (error.id, "TypeError" in error.msg) == ("routines.E016", True)
    settings.ROUTINES = settings.ROUTINES | {"IMPORT_BEAT_SCHEDULE": False}
    assert checks.check_beat_schedule() == []


@pytest.mark.django_db(transaction=True)
def test_what_is_not_imported_or_carried_is_logged_once(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """However often a beat looks; the others are imported."""
    odd = EVERY | {"options": {"countdown": 5}}
    declarations = Declarations(app(good=EVERY, fast=EVERY | {"schedule": 0.1}, odd=odd))
    for _ in range(3):
        declarations.sync(clock.now())
    told = [(record.levelname, record.getMessage()) for record in caplog.records if "beat_schedule" in record.message]
    assert [level for level, _ in told] == ["ERROR", "WARNING"]
    assert "'fast' is not imported" in told[0][1]
    assert told[1][1] == "beat_schedule entry 'odd': its options countdown are not carried"
    assert sorted(Routine.objects.values_list("name", flat=True)) == ["good", "odd"]


@pytest.mark.django_db(transaction=True)
def test_an_entry_whose_task_lives_elsewhere_is_imported_with_a_warning(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    assert imported(task="warehouse.tasks.note").task == "warehouse.tasks.note"
    assert "task warehouse.tasks.note is taken as it is: no such task is registered" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_rows_of_an_earlier_version_become_as_declared_but_for_what_was_edited(redis_client: redis.Redis) -> None:
    """They had three attempts and a time-out that nobody had asked for."""
    imported()
    Routine.objects.update(max_attempts=3, timeout_ms=None)
    ScheduleChange.objects.update(after={"task": TASK})  # what was written then
    service.update_routine("report", retry_delay_ms=5_000, actor="ada")
    routine = imported()
    assert (routine.max_attempts, routine.timeout_ms, routine.retry_delay_ms) == (1, 0, 5_000)

    service.update_routine("report", max_attempts=7, timeout_ms="10m", actor="ada")
    routine = imported(options={"time_limit": 5}, routine={"max_attempts": 2})
    assert (routine.max_attempts, routine.timeout_ms) == (7, 600_000)


@pytest.mark.django_db(transaction=True)
def test_a_person_who_is_called_like_a_beat_is_none(redis_client: redis.Redis) -> None:
    """What such a person has edited stays."""
    imported()
    service.update_routine("report", max_attempts=7, actor="beat")
    assert imported().max_attempts == 7
    assert set(ScheduleChange.objects.values_list("actor", flat=True)) == {"beat", "user beat"}


@pytest.mark.django_db(transaction=True)
def test_what_code_does_not_say_any_more_is_unset(redis_client: redis.Redis) -> None:
    """Neither the end of a schedule nor a policy outlives its line of code."""
    imported(options={"expires": datetime(2030, 1, 2, tzinfo=UTC)}, routine={"concurrency_policy": "FORBID"})
    service.update_routine("report", catch_up_policy="LAST", actor="ada")
    routine = imported()
    assert (routine.end_at, routine.concurrency_policy, routine.catch_up_policy) == (None, "ALLOW", "LAST")
    version = routine.version
    assert imported().version == version, "nothing had changed"
