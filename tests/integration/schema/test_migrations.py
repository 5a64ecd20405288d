"""Migrations of rows that are there already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

BEFORE, AFTER = ("routines", "0004_no_open_skip"), ("routines", "0005_own_limits")
OLD_DEFAULT_MS = 300_000


def migrated(to: tuple[str, str]) -> Any:
    """The models as they are there."""
    executor = MigrationExecutor(connection)
    executor.migrate([to])
    return MigrationExecutor(connection).loader.project_state([to]).apps


@pytest.fixture
def before(transactional_db: None) -> Iterator[Any]:
    try:
        yield migrated(BEFORE)
    finally:
        MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))


def add(apps: Any, name: str, changed: dict[str, Any] | None = None, **values: Any) -> None:
    routine = apps.get_model("routines", "Routine").objects.create(name=name, task="t", **values)
    changes = apps.get_model("routines", "ScheduleChange").objects
    changes.create(routine=routine, routine_name=name, kind="created", at=timezone.now(), after={"timeout_ms": 1})
    if changed is not None:
        changes.create(routine=routine, routine_name=name, kind="updated", at=timezone.now(), after=changed)


def test_time_outs_that_nobody_has_changed_become_unset(before: Any) -> None:
    """The old default was everybody's; who has chosen five minutes keeps them."""
    add(before, "untouched")
    add(before, "edited otherwise", {"description": "timeout_ms"})
    add(before, "chosen", {"timeout_ms": OLD_DEFAULT_MS})
    add(before, "another", timeout_ms=90_000, catch_up_window=5_000)
    routines = migrated(AFTER).get_model("routines", "Routine").objects
    found = dict(routines.values_list("name", "timeout_ms"))
    assert found == {"untouched": None, "edited otherwise": None, "chosen": OLD_DEFAULT_MS, "another": 90_000}
    assert routines.get(name="another").catch_up_window_ms == 5_000


def test_on_the_way_back_what_is_unset_gets_the_old_default(before: Any) -> None:
    """An older release reads no NULL there."""
    add(before, "untouched")
    routines = migrated(AFTER).get_model("routines", "Routine").objects
    routines.create(name="without", task="t", timeout_ms=0)
    found = migrated(BEFORE).get_model("routines", "Routine").objects.values_list("timeout_ms", flat=True)
    assert list(found) == [OLD_DEFAULT_MS] * 2


INDEXES = ("0014_runs_indexes", "0016_indexes_beside")


@pytest.mark.each_database
@pytest.mark.parametrize("name", INDEXES)
def test_indexes_can_be_made_again_after_a_cut(transactional_db: None, name: str) -> None:
    """Such a migration is in no transaction: what it had made before it was cut off is there when it comes again."""
    before = all_indexes()
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("routines", name)
    migrated(("routines", name))
    assert all_indexes() == before
    assert ("routines", name) in recorder.applied_migrations()


def test_an_index_that_was_left_half_made_is_made_anew(transactional_db: None) -> None:
    """PostgreSQL keeps one that serves nobody; others have none such."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL makes indexes beside the work")
    names = ("run_by_rare_trigger", "routine_by_overlap", "routine_by_tags")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text = ANY (%s)", [list(names)]
        )
    for name in INDEXES:
        MigrationRecorder(connection).record_unapplied("routines", name)
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT bool_and(indisvalid), count(*) FROM pg_index WHERE indexrelid::regclass::text = ANY (%s)",
            [list(names)],
        )
        assert cursor.fetchone() == (True, 3)


@pytest.mark.each_database
def test_indexes_go_on_the_way_back_and_come_again(transactional_db: None) -> None:
    """Beside the work as well."""
    before = all_indexes()
    try:
        migrated(("routines", "0013_waits_and_lifetimes"))
        assert not all_indexes() & {"routine_by_overlap", "run_by_rare_trigger", "state_hinted", "routine_by_tags"}
    finally:
        MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    assert all_indexes() == before


def all_indexes() -> set[str]:
    tables = ("routines_routine", "routines_routinestate", "routines_routinerun")
    with connection.cursor() as cursor:
        return {name for table in tables for name in connection.introspection.get_constraints(cursor, table)}
