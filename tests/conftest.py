"""The servers of a test run, and what every test may ask for."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
import redis
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings

from routines_app.coordination.patience import WORKER, be_patient
from tests import each_database
from tests.mariadb import MARIADB_PORT
from tests.processes import answers, wait_for
from tests.servers import RABBITMQ_PORT, SharedServers, shared_ports

# How fast examples come says how busy the machine is.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

SERVERS = SharedServers()
CLOSING_SECONDS = 10.0  # a server that has much to do ends a closed session a little later
MADE_BY_MIGRATIONS = {"auth_permission", "django_content_type"}


def pytest_configure(config: pytest.Config) -> None:
    import tests.acceptance.app  # noqa: F401 - becomes Celery's current app, with the tests' tasks registered

    be_patient(WORKER)  # a busy machine's servers may need longer than a web request would wait
    if hasattr(config, "workerinput") or config.option.collectonly or asks_only_for_unit_tests(config):
        return
    atexit.register(SERVERS.dispose)
    # A terminated run (a CI time-out) cleans up as an interrupted one does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    SERVERS.start()


def pytest_unconfigure() -> None:
    SERVERS.dispose()


def pytest_report_header() -> str:
    return f"database: {database()}"


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    each_database.mark(items, each_database.listed())
    leave_out_other_cases(config, items)
    skip_what_nobody_answers(items)


def pytest_collection_finish() -> None:
    """What is there now stays: to look through all of it for garbage again and again takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def leave_out_other_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what takes long, one case always runs, and the others when everything does, or when somebody names one."""
    named = any("::" in argument for argument in config.args)
    if named or os.environ.get("EVERYTHING"):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("everything")])
    items[:] = [item for item in items if not item.get_closest_marker("everything")]


def skip_what_nobody_answers(items: list[pytest.Item]) -> None:
    """Tests that need a service which does not install from PyPI say so when it is not there."""
    for marker, port in (("mariadb", MARIADB_PORT), ("rabbitmq", RABBITMQ_PORT)):
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and not answers(port):
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"nothing answers on 127.0.0.1:{port} ({marker})"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the fault tests measured, in the order of docs/faults.md."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    told = [value for report in reports for name, value in report.user_properties if name == "recovery"]
    if told:
        terminalreporter.section("recovery times")
        for line in sorted(told, key=lambda line: int(line.partition(")")[2].partition(":")[0])):
            terminalreporter.write_line(line)


def database() -> str:
    return os.environ.get("ROUTINES_TEST_DATABASE", "postgresql")


def asks_only_for_unit_tests(config: pytest.Config) -> bool:
    return all("tests/unit" in os.path.abspath(argument.split("::")[0]) for argument in config.args)


@pytest.fixture(scope="module", autouse=True)
def no_session_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Who opens a connection closes it, in its own thread: what is left over would keep the test database."""
    before = sessions_of_others()
    yield
    with suppress(TimeoutError):
        wait_for(lambda: sessions_of_others().keys() <= before.keys(), CLOSING_SECONDS, "still there", every=0.2)
    left = [query for session, query in sessions_of_others().items() if session not in before]
    assert not left, f"{request.node.nodeid} leaves database sessions open; their last statements: {left}"


def sessions_of_others() -> dict[int, str]:
    """The last statement of each session in the test database but our own."""
    if connection.vendor != "postgresql" or not connection.settings_dict["NAME"].startswith("test_"):
        return {}
    ours = connection.connection.info.backend_pid if connection.connection is not None else None
    with psycopg.connect(f"postgres://postgres@127.0.0.1:{shared_ports()[0]}/postgres", autocommit=True) as asking:
        found = asking.execute(
            "SELECT pid, query FROM pg_stat_activity"
            " WHERE datname = %s AND backend_type = 'client backend' AND pid IS DISTINCT FROM %s::int",
            [connection.settings_dict["NAME"], ours],
        )
        return dict(found.fetchall())


@pytest.fixture(scope="session", autouse=True)
def quick_cleaning() -> Iterator[None]:
    """Empty the tables after a test with real commits, but for what each migration has made and no test changes.

    Django's own flush makes all content types and permissions anew, which takes longer than most tests do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield


def empty_tables(case: TransactionTestCase) -> None:
    there = connection.introspection.django_table_names(only_existing=True, include_views=False)
    filled = [table for table in there if table not in MADE_BY_MIGRATIONS]
    if connection.vendor == "postgresql":  # a TRUNCATE makes new files for each table and index
        connection.ops.execute_sql_flush([";".join(f'DELETE FROM "{table}"' for table in filled)])  # one round trip
    else:
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), filled))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of the admin does all that it is asked to, however slow the machine is; else it stops at a second."""
    for module in ("actions", "fleet_verbs", "rotation_acts", "rotation_verb_pages", "verb_acts"):
        monkeypatch.setattr(f"routines_app.admin.{module}.SECONDS", 60.0)


@pytest.fixture
def redis_url() -> str:
    """This test worker's own database in the run's shared Redis, empty."""
    from django.conf import settings as project

    url: str = project.REDIS_URL
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of that empty Redis database."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client
