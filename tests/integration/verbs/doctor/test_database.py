"""The doctor about the database: which it is, how it isolates, whose clock is off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import NotSupportedError, connection

from routines_app.protocol.ledger import clock
from tests.integration.conftest import Time
from tests.integration.holding import needs_row_locks
from tests.integration.verbs.doctor.asking import answer
from tests.integration.verbs.health.nodes import seen


@pytest.mark.each_database
def test_a_database_that_is_supported(db: None) -> None:
    level, found, advice = answer("database")
    assert (level, advice) == ("ok", "")
    assert found.startswith(f"{connection.display_name} ")


@pytest.mark.each_database
def test_a_database_that_is_too_old(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "get_database_version", lambda: (3, 1))
    level, found, advice = answer("database")
    assert (level, advice) == ("error", "upgrade it")
    assert f"{connection.display_name} 3.1, alias 'default', older than " in found


def test_a_database_that_is_too_old_for_django(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers; starting it is not what helps."""

    def refuse() -> None:
        raise NotSupportedError("PostgreSQL 14 or later is required (found 9.6).")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "ensure_connection", refuse)
        found = answer("database")
    assert found == ("error", "PostgreSQL 14 or later is required (found 9.6).", "upgrade it")


def test_a_database_that_is_none_of_ours(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    assert answer("database")[::2] == ("error", "use PostgreSQL, MariaDB, MySQL or SQLite")


@pytest.fixture
def repeatable(transactional_db: None) -> Iterator[None]:
    """A session of the project's that keeps its snapshot."""
    begin = "SET SESSION CHARACTERISTICS AS" if connection.vendor == "postgresql" else "SET SESSION"
    with connection.cursor() as cursor:
        cursor.execute(f"{begin} TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    yield
    connection.close()


@needs_row_locks
def test_an_isolation_that_keeps_snapshots(repeatable: None) -> None:
    level, found, advice = answer("isolation")
    assert level == "warning"
    assert found.startswith("REPEATABLE READ: ")
    assert "READ COMMITTED" in advice


def test_the_isolation_that_is_meant(transactional_db: None) -> None:
    level, found, _ = answer("isolation")
    assert level == "ok"
    assert found == (
        "SQLite: a transaction that writes is alone" if connection.vendor == "sqlite" else "READ COMMITTED"
    )


@pytest.mark.parametrize(("ahead", "told"), [(2.5, "2.5 s ahead"), (-90.0, "90.0 s behind")])
def test_a_clock_that_is_off(db: None, time: Time, monkeypatch: pytest.MonkeyPatch, ahead: float, told: str) -> None:
    """This machine's, and those of nodes: each is named."""
    monkeypatch.setattr(clock, "wall_ahead_seconds", lambda: ahead)
    seen("worker@b:2", time, versions={"clock_ahead_seconds": -7})
    level, found, _ = answer("clocks")
    assert (level, found) == (
        "warning",
        f"this machine is {told}, worker@b:2 is 7.0 s behind, compared with the database",
    )


def test_clocks_that_agree(db: None, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of an older release says nothing, and one that is gone does not count."""
    monkeypatch.setattr(clock, "wall_ahead_seconds", lambda: 0.25)
    seen("worker@b:2", time, versions={"clock_ahead_seconds": -0.5})
    seen("worker@old:3", time, versions={})
    seen("worker@gone:4", time, seconds=1000, versions={"clock_ahead_seconds": 99})
    assert answer("clocks")[:2] == ("ok", "2 compared with the database's, at most 0.50 s off")


def test_a_wall_clock_that_is_ahead_is_measured(db: None) -> None:
    """By the ledger's own clock, which knows both."""
    ahead = clock.Clock(ask=clock.ask_database, wall=lambda: clock.time.time() + 60).wall_ahead()
    assert 59 < ahead < 61


def test_the_time_that_connecting_takes_is_nobodys_clock() -> None:
    """The first question of a process has to connect."""
    passed = [0.0]

    def slow() -> datetime:
        passed[0] += 20
        return datetime.fromtimestamp(1_000_000 + passed[0], UTC)

    measured = clock.Clock(ask=slow, steady=lambda: passed[0], wall=lambda: 1_000_000 + passed[0])
    assert abs(measured.wall_ahead()) < 1
