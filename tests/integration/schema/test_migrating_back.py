"""0007 and 0006 on the way back: an older release finds words that it knows, and a refusal costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.migrations.executor import MigrationExecutor

from routines_app.models import Pool, Routine, RoutineRun, RoutineState, ScheduleChange

RELEASED = ("routines", "0005_own_limits")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def migrated_back() -> Any:
    """The models of the older release."""
    MigrationExecutor(connection).migrate([RELEASED])
    return MigrationExecutor(connection).loader.project_state([RELEASED]).apps


@pytest.fixture
def forward_again(transactional_db: None) -> Iterator[None]:
    yield
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))


UNASKED = {
    "postgresql": ("ALTER TABLE {0} DROP CONSTRAINT {1}", "ALTER TABLE {0} ADD CONSTRAINT {1} CHECK (true) NOT VALID"),
    "sqlite": ("PRAGMA ignore_check_constraints = ON", "PRAGMA ignore_check_constraints = OFF"),
    "mysql": ("SET check_constraint_checks = 0", "SET check_constraint_checks = 1"),
}


@contextmanager
def nobodys_word(model: Any, constraint: str, column: str) -> Iterator[None]:
    """As plain SQL can leave it where the constraint is not asked; mended at the end."""
    before = model.objects.values_list(column, flat=True).get()
    begin, end = (sql.format(model._meta.db_table, constraint) for sql in UNASKED[connection.vendor])
    with connection.cursor() as cursor:
        cursor.execute(begin)
        model.objects.update(**{column: "of nobody"})
        cursor.execute(end)
    try:
        yield
    finally:
        model.objects.update(**{column: before})


@pytest.mark.usefixtures("forward_again")
def test_a_queue_becomes_the_nearest_that_never_overlaps() -> None:
    """The other policies stay as they are."""
    for policy in ("ALLOW", "FORBID", "REPLACE", "QUEUE"):
        Routine.objects.create(name=policy, task="t", trigger_kind="MANUAL", concurrency_policy=policy)
    found = migrated_back().get_model("routines", "Routine").objects.values_list("name", "concurrency_policy")
    assert dict(found) == {"ALLOW": "ALLOW", "FORBID": "FORBID", "REPLACE": "REPLACE", "QUEUE": "FORBID"}


@pytest.mark.usefixtures("forward_again")
def test_what_a_factor_has_planned_is_an_intervals() -> None:
    """Of states and of runs; and the history has no words that are not known."""
    routine = Routine.objects.create(name="slowed", task="t", trigger_kind="INTERVAL", interval_ms=60_000)
    planned = {"next_slot": NOON, "next_run_at": NOON, "next_source": "hint-factor", "slot_source": "hint-factor"}
    hints = {
        "hint_factor": 2.0,
        "hint_factor_expires_at": NOON,
        "hint_interval_ms": 1,
        "hint_interval_expires_at": NOON,
    }
    RoutineState.objects.create(routine=routine, **planned, **hints)
    RoutineRun.objects.create(
        routine=routine, task="t", source="hint-factor", scheduled_for=NOON, eligible_at=NOON, idempotency_key="s:1"
    )
    ScheduleChange.objects.create(routine=routine, routine_name="slowed", kind="hint_expired", at=NOON)
    Pool.objects.create(name="everything", max_concurrent=1, is_default=True)
    older = migrated_back()
    state = older.get_model("routines", "RoutineState").objects.get()
    assert (state.next_source, state.hint_interval_ms, state.hint_expires_at) == ("hint-interval", 1, NOON)
    assert older.get_model("routines", "RoutineRun").objects.get().source == "hint-interval"
    assert not older.get_model("routines", "ScheduleChange").objects.exists()


@pytest.mark.usefixtures("forward_again")
@pytest.mark.parametrize(
    ("model", "constraint", "column"),
    [
        (Routine, "routine_concurrency_is_known", "concurrency_policy"),
        (RoutineState, "state_source_is_known", "next_source"),
    ],
)
def test_a_refusal_comes_before_anything_is_dropped(model: Any, constraint: str, column: str) -> None:
    """Mended, the same migration goes back after all: also where a database cannot undo what has been altered."""
    Pool.objects.create(name="everything", max_concurrent=1, is_default=True)
    routine = Routine.objects.create(name="hinted", task="t", trigger_kind="MANUAL")
    hint = {"hint_interval_ms": 5_000, "hint_interval_expires_at": NOON, "hint_interval_reason": "busy"}
    planned = {"next_slot": NOON, "next_run_at": NOON, "next_source": "hint-interval", "slot_source": "hint-interval"}
    RoutineState.objects.create(routine=routine, **hint, **planned)
    with nobodys_word(model, constraint, column):
        with pytest.raises(IntegrityError):
            migrated_back()
        assert list(Pool.objects.values_list("name", "is_default")) == [("everything", True)]
        if model is RoutineState:  # the newer of the two: nothing has gone back
            assert RoutineState.objects.get().hint_interval_reason == "busy"
    state = migrated_back().get_model("routines", "RoutineState").objects.get()
    assert (state.hint_reason, state.next_source) == ("busy", "hint-interval")
