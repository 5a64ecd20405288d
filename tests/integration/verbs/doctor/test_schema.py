"""The doctor about the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from routines_app.models import RoutineRun
from tests.integration.verbs.doctor.asking import answer

pytestmark = pytest.mark.each_database


def test_migrations_that_are_all_applied(db: None) -> None:
    level, found, _ = answer("migrations")
    assert level == "ok"
    assert found.startswith("all applied, up to 00")


def test_a_migration_that_is_not_applied(db: None) -> None:
    MigrationRecorder(connection).record_unapplied("routines", "0008_rotations")
    assert answer("migrations") == ("error", "not applied: 0008_rotations", "run manage.py migrate")


def test_a_migration_that_this_code_does_not_know(db: None) -> None:
    """The database is ahead: an old process after a deploy."""
    MigrationRecorder(connection).record_applied("routines", "9999_later")
    level, found, _ = answer("migrations")
    assert (level, found) == ("warning", "applied, and not known here: 9999_later")


def test_migrations_of_others_are_not_ours(db: None) -> None:
    MigrationRecorder(connection).record_unapplied("auth", "0001_initial")
    MigrationRecorder(connection).record_applied("shop", "0001_initial")
    assert answer("migrations").level == "ok"


@pytest.fixture
def receipts(transactional_db: None) -> Callable[[str], object]:
    """A table of somebody's project whose rows refer to runs."""

    @contextmanager
    def table(rule: str) -> Iterator[None]:
        kind = RoutineRun._meta.pk.db_type(connection)
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE shop_receipt (id integer PRIMARY KEY, run_id {kind} NULL,"
                f" CONSTRAINT receipt_has_a_run FOREIGN KEY (run_id) REFERENCES routines_routinerun (id) {rule})"
            )
            try:
                yield
            finally:
                cursor.execute("DROP TABLE shop_receipt")

    return table


@pytest.mark.parametrize("rule", ["", "ON DELETE NO ACTION", "ON DELETE RESTRICT"])
def test_a_key_that_keeps_old_runs(receipts: Callable[..., object], rule: str) -> None:
    with receipts(rule):
        level, found, advice = answer("foreign keys")
    assert level == "warning"
    assert "shop_receipt (r" in found, "with its name; on SQLite that of its column"
    assert "ON DELETE CASCADE" in advice


@pytest.mark.parametrize("rule", ["ON DELETE CASCADE", "ON DELETE SET NULL"])
def test_a_key_that_lets_them_go(receipts: Callable[..., object], rule: str) -> None:
    with receipts(rule):
        assert answer("foreign keys").level == "ok"


def test_our_own_tables_keep_nothing(db: None, settings: Settings) -> None:
    """And where nothing is pruned nobody keeps it from that."""
    assert answer("foreign keys").found == "no table of yours keeps old runs from being pruned"
    settings.ROUTINES = settings.ROUTINES | {"KEEP_RUNS_DAYS": 0}
    assert answer("foreign keys").found == "nothing is pruned (KEEP_RUNS_DAYS is 0)"
