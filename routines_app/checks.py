"""System checks: what a project has set in a way that would lose work, double it or stall it.

They read settings only and open no connection; the one that asks a database for its version runs when Django is told to
check databases (`migrate`, `check --database default`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from celery.app import app_or_default
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections, router

from routines_app.conf import Settings, get_settings
from routines_app.coordination.broker_address import CONFIGURE, NO_BROKER, has_broker
from routines_app.coordination.queue_names import refusal
from routines_app.coordination.redis_address import NoAddress, addresses
from routines_app.coordination.redis_client import client_of
from routines_app.protocol.upkeep.neighbours import stranger

SQLITE_SECONDS = 5  # below this, writers that wait for each other see `database is locked`
REDIS_SCHEMES = ("redis://", "rediss://", "redis+socket://", "sentinel://", "unix://")
AMQP_SCHEMES = ("amqp://", "amqps://", "pyamqp://", "librabbitmq://", "py-amqp://")
PGBOUNCER_PORT = "6432"
ISOLATED = ("REPEATABLE READ", "SERIALIZABLE")
UNREADABLE = (ImproperlyConfigured, TypeError, ValueError)  # what comes of a `ROUTINES` that is wrong
OLDEST = {True: (10, 6), False: (8, 0)}  # MariaDB, MySQL: SKIP LOCKED and check constraints


@register(Tags.compatibility)
def check_settings(**_: Any) -> list[CheckMessage]:
    """The `ROUTINES` dictionary and the Django settings that everything rests on."""
    return list(_settings_messages())


@register(Tags.compatibility)
def check_databases(**_: Any) -> list[CheckMessage]:
    """How the ledger's database is set up."""
    return list(_database_messages(dict(connections[_ledger()].settings_dict)))


@register(Tags.compatibility)
def check_celery(**_: Any) -> list[CheckMessage]:
    """The Celery app's configuration."""
    app = app_or_default()
    if not has_broker(app):
        return [_error("E014", f"{NO_BROKER[0].upper()}{NO_BROKER[1:]}.", f"{CONFIGURE[0].upper()}{CONFIGURE[1:]}.")]
    return [*_celery_messages(app.conf), *_queue_messages(app)]


@register(Tags.compatibility)
def check_redis(**_: Any) -> list[CheckMessage]:
    """Where leases and wake-ups live; nobody is asked there. Without an app that has its own message."""
    app = app_or_default()
    return list(_address_messages(app)) if has_broker(app) else []


@register(Tags.database)
def check_versions(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """MariaDB and MySQL that are too old; asks the database itself."""
    connection: Any = connections[_ledger()]
    if not databases or _ledger() not in databases or connection.vendor != "mysql":
        return []
    oldest, version = OLDEST[connection.mysql_is_mariadb], connection.mysql_version
    if version >= oldest:
        return []
    wanted = f"{'MariaDB' if connection.mysql_is_mariadb else 'MySQL'} {oldest[0]}.{oldest[1]}"
    return [_error("E007", f"The database is older than {wanted}.", "Beats share work by SKIP LOCKED; upgrade it.")]


@register("routines", deploy=True)
def check_neighbours(**_: Any) -> list[CheckMessage]:
    """Another project under our prefix in Redis; asks the database and Redis, so `check --deploy` only."""
    try:
        found = stranger()
    except (DatabaseError, *UNREADABLE):
        return []  # away, or set wrong, which has its own message
    return (
        [_warning("W014", f"{found[0].upper()}{found[1:]}.", "Beats of both say so in the admin, too.")]
        if found
        else []
    )


def _settings_messages() -> Iterator[CheckMessage]:
    try:
        get_settings()
    except UNREADABLE as error:
        yield _error("E001", str(error), "See routines_app.conf.Settings for what can be set.")
    if not settings.USE_TZ:
        yield _error("E002", "USE_TZ is False.", "All times are stored in UTC: set USE_TZ = True.")
    if _own().mirror_results and not apps.is_installed("django_celery_results"):
        yield _error(
            "E009",
            "django_celery_results is not in INSTALLED_APPS.",
            "Add it, or set ROUTINES = {'MIRROR_RESULTS': False}.",
        )


def _database_messages(database: dict[str, Any]) -> Iterator[CheckMessage]:
    vendor = str(database["ENGINE"]).rpartition(".")[2]
    options = database.get("OPTIONS") or {}
    match vendor:
        case "sqlite3" | "spatialite":
            yield from _sqlite_messages(str(database["NAME"]), options)
        case "mysql":
            yield from _mysql_messages(options)
        case "postgresql" | "postgis":
            yield from _postgresql_messages(database)
        case _:
            hint = "Use PostgreSQL, MariaDB, MySQL or SQLite for the database that holds the routines."
            yield _error("E006", f"The database engine {database['ENGINE']} is not supported.", hint)
    if database.get("TIME_ZONE") not in (None, "UTC"):
        yield _error(
            "E011",
            f"The database's TIME_ZONE is {database['TIME_ZONE']}: intervals would follow its daylight saving.",
            "Leave it out of DATABASES; routines have time zones of their own.",
        )
    if database.get("CONN_MAX_AGE") == 0 and _own().worker_connection_seconds == 0:
        yield _warning(
            "W009",
            "Workers reconnect to the database around every task.",
            "Set CONN_MAX_AGE, or leave ROUTINES['WORKER_CONNECTION_SECONDS'] at its default.",
        )


def _sqlite_messages(name: str, options: dict[str, Any]) -> Iterator[CheckMessage]:
    if ":memory:" in name or "mode=memory" in name:
        return  # one process only: nobody to wait for
    hint = "Use OPTIONS = routines_app.conf.sqlite_options()."
    if str(options.get("transaction_mode")).upper() not in ("IMMEDIATE", "EXCLUSIVE"):
        yield _error("E003", "SQLite transactions do not start as IMMEDIATE: writers will fail as locked.", hint)
    if "journal_mode=wal" not in str(options.get("init_command", "")).lower().replace(" ", ""):
        yield _error("E004", "SQLite is not in WAL mode: readers and writers block each other.", hint)
    if float(options.get("timeout", SQLITE_SECONDS)) < SQLITE_SECONDS:
        yield _error("E005", f"SQLite waits less than {SQLITE_SECONDS} s for a lock.", hint)


def _mysql_messages(options: dict[str, Any]) -> Iterator[CheckMessage]:
    if "myisam" in str(options.get("init_command", "")).lower():
        yield _error("E008", "MyISAM tables have no transactions.", "Use InnoDB, the default.")
    level = options.get("isolation_level", "read committed")
    if str(level).lower() != "read committed":
        yield _warning(
            "W008",
            f"The isolation level is {level}: a claim may decide on rows that have changed since.",
            "Set OPTIONS['isolation_level'] = 'read committed', Django's default.",
        )


def _postgresql_messages(database: dict[str, Any]) -> Iterator[CheckMessage]:
    level = _postgresql_isolation(database.get("OPTIONS") or {})
    if level in ISOLATED:
        yield _warning(
            "W013",
            f"The isolation level is {level}: transactions of beats use READ COMMITTED all the same, but verbs, starts"
            " and ends of runs meet serialization failures and have to be tried again.",
            "READ COMMITTED, PostgreSQL's default, is supported: leave OPTIONS['isolation_level'] and"
            " default_transaction_isolation out, or use them in a second alias.",
        )
    if str(database.get("PORT")) == PGBOUNCER_PORT and not database.get("DISABLE_SERVER_SIDE_CURSORS"):
        yield _warning(
            "W010",
            f"Port {PGBOUNCER_PORT} looks like PgBouncer, and server-side cursors are on.",
            "Set DISABLE_SERVER_SIDE_CURSORS = True if it pools by transaction.",
        )


def _postgresql_isolation(options: dict[str, Any]) -> str:
    """What transactions are asked to have, as words: psycopg's number, or a parameter of the connection."""
    given = options.get("isolation_level")
    if given is not None:
        from django.db.backends.postgresql.psycopg_any import IsolationLevel  # not there without a driver

        return str(IsolationLevel(given).name).replace("_", " ")
    text = re.sub(r"[\\']", "", str(options.get("options", ""))).replace("_", " ").upper()
    return next((level for level in ISOLATED if f"DEFAULT TRANSACTION ISOLATION={level}" in text), "")


def _celery_messages(conf: Any) -> Iterator[CheckMessage]:
    broker = str(conf.broker_write_url or conf.broker_url or "").split(";")[0]
    if broker.startswith(AMQP_SCHEMES):
        yield from _amqp_messages(conf)
    if broker.startswith(REDIS_SCHEMES):
        yield from _redis_messages(conf)
    yield from _worker_messages(conf)
    if conf.task_always_eager and not settings.DEBUG:
        yield _warning("W005", "task_always_eager is on with DEBUG off.", "Tasks would run inside web requests.")
    if not conf.enable_utc:
        yield _warning("W007", "Celery's enable_utc is off.", "Message times would be local; leave it on.")


def _amqp_messages(conf: Any) -> Iterator[CheckMessage]:
    if not (conf.broker_transport_options or {}).get("confirm_publish"):
        yield _error(
            "E010",
            "RabbitMQ does not confirm what is published: lost messages go unnoticed until they are looked for.",
            "Set CELERY_BROKER_TRANSPORT_OPTIONS = {'confirm_publish': True}.",
        )
    if not conf.task_queue_max_priority and not conf.task_queues:
        yield _warning(
            "W012",
            "RabbitMQ queues have no priorities: those of routines are ignored.",
            "Set task_queue_max_priority = 10, and delete the queues that exist so that they are made anew: RabbitMQ"
            " does not change one, and answers PRECONDITION_FAILED to whoever declares it differently.",
        )


def _redis_messages(conf: Any) -> Iterator[CheckMessage]:
    options = conf.broker_transport_options or {}
    if not options.get("socket_timeout") or not options.get("socket_connect_timeout"):
        yield _warning(
            "W001",
            "The Redis broker has no socket time-outs: a frozen Redis hangs whoever publishes.",
            "Set CELERY_BROKER_TRANSPORT_OPTIONS = {'socket_timeout': 10, 'socket_connect_timeout': 5}.",
        )


def _address_messages(app: Any) -> Iterator[CheckMessage]:
    if app.conf.task_always_eager:
        return  # runs start inline, without Redis
    try:
        for address in addresses(app):
            client_of(address)
    except UNREADABLE:
        return  # that has its own message
    except NoAddress as error:
        yield _error(
            "E012",
            f"There is no Redis for leases and wake-ups: {error}.",
            "Exclusive runs (FORBID, REPLACE, QUEUE) would wait for it for ever.",
        )


def _queue_messages(app: Any) -> Iterator[CheckMessage]:
    queues = app.conf.task_queues or ()
    declared = queues if isinstance(queues, Mapping) else [queue.name for queue in queues]
    try:
        refused = {name: right for name in (app.conf.task_default_queue, *declared) if (right := refusal(name, app))}
    except UNREADABLE:
        return  # that has its own message
    for name, right in refused.items():
        hint = f"Its runs would be set aside: {right}."
        yield _error("E013", f"The queue {name!r} of the Celery app cannot be used.", hint)


def _worker_messages(conf: Any) -> Iterator[CheckMessage]:
    if conf.task_acks_late:
        yield _warning(
            "W002",
            "task_acks_late is on for all tasks.",
            "The run row is the work: late acknowledgement only brings duplicates. Set it per task instead.",
        )
    if conf.worker_prefetch_multiplier != 1:
        yield _warning(
            "W003",
            "worker_prefetch_multiplier is not 1: runs wait behind long ones while other workers are idle.",
            "Set CELERY_WORKER_PREFETCH_MULTIPLIER = 1.",
        )
    if conf.worker_enable_prefetch_count_reduction:
        yield _warning(
            "W004",
            "Workers reduce their prefetch count after a lost connection and stay slow.",
            "Set CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False.",
        )
    if conf.task_reject_on_worker_lost:
        yield _warning(
            "W011",
            "task_reject_on_worker_lost is on: a task that kills its worker comes back for ever.",
            "Leave it off; routines retry within their attempts.",
        )


def _ledger() -> str:
    return router.db_for_write(apps.get_model("routines", "RoutineRun"))


def _own() -> Settings:
    """The settings, or the defaults when they are wrong: that has its own message."""
    try:
        return get_settings()
    except UNREADABLE:
        return Settings()


def _error(number: str, message: str, hint: str) -> checks.Error:
    return checks.Error(message, hint=hint, id=f"routines.{number}")


def _warning(number: str, message: str, hint: str) -> checks.Warning:
    return checks.Warning(message, hint=hint, id=f"routines.{number}")
