"""Migrations of rows that are there already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
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
