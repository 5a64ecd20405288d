"""Migrations on the way back that the database refuses: a word that an older release would not know costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection

from routines_app.models import Pool, Rotation, Routine, RoutineRun, RoutineState
from tests.integration.schema.going_back import (
    BEFORE_ROTATIONS,
    NOON,
    a_rotation_with_history,
    forward_again,  # noqa: F401 - a fixture
    migrated_back,
)

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


@pytest.mark.usefixtures("forward_again")
def test_a_refused_word_of_a_run_leaves_rotations_where_they_are() -> None:
    """The words go first: where the older constraint refuses one, no column and no table is gone yet."""
    a_rotation_with_history()
    RoutineRun.objects.exclude(trigger="rotation").delete()
    with nobodys_word(RoutineRun, "run_trigger_is_known", "trigger"):
        with pytest.raises(IntegrityError):
            migrated_back(BEFORE_ROTATIONS)
        # The newest columns are gone already: only what is asked for is read.
        assert Rotation.objects.values_list("routine__name", flat=True).get() == "feeds"
        assert Routine.objects.values_list("rotation_id", flat=True).get(name="feed") is not None
    migrated_back(BEFORE_ROTATIONS)
