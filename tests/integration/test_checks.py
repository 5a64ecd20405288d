"""System checks: each misconfiguration has a number, and a sound project has none of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.app.defaults import DEFAULTS
from django.core.checks import run_checks
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from kombu import Queue

from routines_app import checks
from routines_app.conf import sqlite_options
from tests.integration.conftest import Current

SOUND_CELERY: dict[str, Any] = {
    "broker_url": "redis://localhost/0",
    "broker_write_url": None,
    "broker_transport_options": {"socket_timeout": 10, "socket_connect_timeout": 5},
    "worker_prefetch_multiplier": 1,
    "worker_enable_prefetch_count_reduction": False,
}
RABBIT = SOUND_CELERY | {
    "broker_url": "amqp://localhost//",
    "broker_transport_options": {"confirm_publish": True},
    "task_queue_max_priority": 10,
}
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/data/db.sqlite3", "OPTIONS": sqlite_options()}
MYSQL = {"ENGINE": "django.db.backends.mysql", "NAME": "db"}
POSTGRESQL = {"ENGINE": "django.db.backends.postgresql", "NAME": "db", "PORT": 5432}


def celery(**values: Any) -> list[str]:
    """The numbers of the checks that a Celery configuration fails."""
    conf = SimpleNamespace(**(DEFAULTS | SOUND_CELERY | values))
    return numbers(checks._celery_messages(conf))


def redis(broker: str, **values: Any) -> list[str]:
    """The numbers of what is wrong with the Redis of leases, given a broker."""
    app = Celery("checked", broker=broker, set_as_current=False)
    app.conf.update(values)
    return numbers(checks._address_messages(app))


def database(of: dict[str, Any], **values: Any) -> list[str]:
    return numbers(checks._database_messages(of | values))


def numbers(messages: Any) -> list[str]:
    return [message.id.removeprefix("routines.") for message in messages]


def ours() -> list[str]:
    return [message.id for message in run_checks() if str(message.id).startswith("routines.")]


@pytest.mark.each_database
def test_the_tests_own_project_passes() -> None:
    """What the README tells people to set raises nothing."""
    assert ours() == []


@pytest.mark.parametrize(
    ("number", "values"),
    [
        ("W001", {"broker_transport_options": {}}),
        ("W001", {"broker_transport_options": {"socket_timeout": 5}}),
        ("W002", {"task_acks_late": True}),
        ("W003", {"worker_prefetch_multiplier": 4}),
        ("W004", {"worker_enable_prefetch_count_reduction": True}),
        ("W005", {"task_always_eager": True}),
        ("W007", {"enable_utc": False}),
        ("W011", {"task_reject_on_worker_lost": True}),
        ("E010", RABBIT | {"broker_transport_options": {}}),
        ("W012", RABBIT | {"task_queue_max_priority": None}),
    ],
)
def test_a_celery_setting_that_loses_or_stalls_work_is_named(number: str, values: dict[str, Any]) -> None:
    """Exactly that one."""
    assert celery(**values) == [number]


def test_priorities_of_rabbitmq_need_queues_that_are_made_anew() -> None:
    """Whoever only sets it gets workers that do not start."""
    conf = SimpleNamespace(**(DEFAULTS | RABBIT | {"task_queue_max_priority": None}))
    (message,) = checks._celery_messages(conf)
    assert "delete the queues that exist" in str(message.hint)
    assert "PRECONDITION_FAILED" in str(message.hint)


@pytest.mark.parametrize(
    ("app", "found"),
    [
        (Celery("bare", set_as_current=False), ["routines.E014"]),
        (Celery("eager", set_as_current=False, changes={"task_always_eager": True}), []),
        (Celery("memory", set_as_current=False, broker="memory://"), []),
    ],
    ids=lambda value: getattr(value, "main", ""),
)
def test_a_process_without_a_broker_is_told_how_to_get_one(current: Current, app: Celery, found: list[str]) -> None:
    """Celery would take RabbitMQ on this machine. What else is wrong with such an app is noise."""
    current(app)
    errors = [message for message in run_checks() if str(message.id).startswith("routines.E")]
    assert [message.id for message in errors] == found
    assert all("project/__init__.py" in str(message.hint) for message in errors)


def test_a_broker_in_the_environment_is_one(current: Current, monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery reads it there as well."""
    monkeypatch.setenv("CELERY_BROKER_URL", "memory://")
    current(Celery("bare", set_as_current=False))
    assert "routines.E014" not in ours()


def test_sound_celery_settings_pass() -> None:
    """With Redis, and with RabbitMQ beside a Redis."""
    assert celery() == celery(**RABBIT) == []


@pytest.mark.parametrize(
    "values",
    [
        {"task_default_queue": "unacked"},
        {"task_queues": [Queue("mails"), Queue("routines-mails")]},
        {"task_queues": {"celeryev.mails": {"exchange": "mails"}}},
    ],
)
def test_a_queue_of_the_project_that_no_run_could_go_to_is_named(settings: Any, values: dict[str, Any]) -> None:
    """A KEY_PREFIX may have been chosen that the project's own queues begin with."""
    settings.ROUTINES = settings.ROUTINES | {"KEY_PREFIX": "routines-"}
    app = Celery("checked", set_as_current=False)
    assert numbers(checks._queue_messages(app)) == []
    app.conf.update(values)
    assert numbers(checks._queue_messages(app)) == ["E013"]


def test_a_project_without_any_redis_is_told(settings: Any) -> None:
    """RabbitMQ carries messages, but leases and wake-ups need a Redis."""
    settings.ROUTINES = {}
    assert redis(RABBIT["broker_url"]) == ["E012"]
    assert redis("redis+socket:///run/redis.sock?virtual_host=1") == []
    assert redis(RABBIT["broker_url"], task_always_eager=True) == []


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        ";",
        "valkey://localhost",
        "redis://localhost/0?ssl_cert_reqs=maybe",
        "sentinel://localhost/0?master_name=one&min_other_sentinels=two",
    ],
)
def test_an_address_of_redis_that_cannot_be_read_is_an_error(settings: Any, url: str) -> None:
    """With what would be right; what each form says is tested beside the client."""
    settings.ROUTINES = {"REDIS_URL": url}
    assert ours() == ["routines.E012"]


def test_sentinels_need_the_name_of_their_master(settings: Any) -> None:
    """Celery would fail over it, and leases must not go to another server meanwhile."""
    settings.ROUTINES = {}
    sentinels = "sentinel://a:26379;sentinel://b:26379/1"
    assert redis(sentinels) == ["E012"]
    assert redis(sentinels, broker_transport_options={"master_name": "mymaster"}) == []


def test_eager_tasks_are_fine_in_development(settings: Any) -> None:
    """With DEBUG on nobody is surprised."""
    settings.DEBUG = True
    assert celery(task_always_eager=True) == []


@pytest.mark.parametrize(
    ("number", "of", "values"),
    [
        ("E003", SQLITE, {"OPTIONS": sqlite_options() | {"transaction_mode": "DEFERRED"}}),
        ("E004", SQLITE, {"OPTIONS": sqlite_options() | {"init_command": ""}}),
        ("E005", SQLITE, {"OPTIONS": sqlite_options() | {"timeout": 1}}),
        ("E006", POSTGRESQL, {"ENGINE": "django.db.backends.oracle"}),
        ("E008", MYSQL, {"OPTIONS": {"init_command": "SET default_storage_engine=MyISAM"}}),
        ("W008", MYSQL, {"OPTIONS": {"isolation_level": "repeatable read"}}),
        ("W010", POSTGRESQL, {"PORT": "6432"}),
        ("W013", POSTGRESQL, {"OPTIONS": {"isolation_level": IsolationLevel.SERIALIZABLE}}),
        ("W013", POSTGRESQL, {"OPTIONS": {"isolation_level": IsolationLevel.REPEATABLE_READ}}),
        ("W013", POSTGRESQL, {"OPTIONS": {"options": "-c default_transaction_isolation=serializable"}}),
        ("W013", POSTGRESQL, {"OPTIONS": {"options": "-c default_transaction_isolation='repeatable\\ read'"}}),
    ],
)
def test_a_database_setting_that_breaks_the_protocol_is_named(
    number: str, of: dict[str, Any], values: dict[str, Any]
) -> None:
    """Exactly that one."""
    assert database(of, **values) == [number]


def test_sound_databases_pass() -> None:
    """An in-memory SQLite has nobody to wait for."""
    assert database(SQLITE) == database(MYSQL) == database(POSTGRESQL) == []
    assert database(SQLITE | {"NAME": ":memory:", "OPTIONS": {}}) == []
    assert database(POSTGRESQL, PORT="6432", DISABLE_SERVER_SIDE_CURSORS=True) == []


def test_plain_sqlite_fails_on_everything() -> None:
    """Django's defaults are not enough for several writers."""
    assert database(SQLITE, OPTIONS={}) == ["E003", "E004"]


def test_workers_that_reconnect_around_every_task_are_named(settings: Any) -> None:
    """Only when the project has switched our remedy off."""
    assert database(POSTGRESQL, CONN_MAX_AGE=0) == []
    settings.ROUTINES = {"WORKER_CONNECTION_SECONDS": 0}
    assert database(POSTGRESQL, CONN_MAX_AGE=0) == ["W009"]


@pytest.mark.parametrize(("zone", "expected"), [(None, []), ("UTC", []), ("Europe/Berlin", ["E011"])])
def test_a_database_in_a_zone_of_its_own(zone: str | None, expected: list[str]) -> None:
    """Its times would come back with that zone's daylight saving, and a day's interval would follow it."""
    assert database(POSTGRESQL, TIME_ZONE=zone) == expected


@pytest.mark.parametrize(
    "wrong", [{"CLAIM_BATHC": 5}, {"CLAIM_BATCH": "many"}, {"LEASE_SECONDS": -1}, None, "abc"], ids=repr
)
def test_a_wrong_routines_setting_is_an_error(settings: Any, wrong: Any) -> None:
    """A misspelt name is found at start-up, not at night."""
    settings.ROUTINES = settings.ROUTINES | wrong if isinstance(wrong, dict) else wrong
    assert "routines.E001" in ours()


def test_naive_times_are_an_error(settings: Any) -> None:
    """Slots are UTC instants."""
    settings.USE_TZ = False
    assert "routines.E002" in ours()


def test_the_result_records_need_their_app(settings: Any) -> None:
    """Or the setting that switches them off."""
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_celery_results"]
    assert "routines.E009" in ours()
    settings.ROUTINES = settings.ROUTINES | {"MIRROR_RESULTS": False}
    assert "routines.E009" not in ours()


@pytest.mark.parametrize(
    ("mariadb", "version", "found"),
    [(True, (10, 5, 9), ["E007"]), (True, (10, 6, 1), []), (False, (5, 7, 44), ["E007"]), (False, (8, 0, 11), [])],
)
def test_a_database_that_is_too_old_is_named_when_databases_are_checked(
    monkeypatch: pytest.MonkeyPatch, mariadb: bool, version: tuple[int, ...], found: list[str]
) -> None:
    """Only then: plain checks open no connection."""
    connection = SimpleNamespace(vendor="mysql", mysql_is_mariadb=mariadb, mysql_version=version)
    monkeypatch.setattr(checks, "connections", {"default": connection})
    assert numbers(checks.check_versions(databases=["default"])) == found
    assert numbers(checks.check_versions()) == []


def test_checks_open_no_connection() -> None:
    """This test may not touch a database, and pytest-django would refuse if it did."""
    run_checks()
