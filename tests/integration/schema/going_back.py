"""Going back to an older release: its models, what may stand in the ledger then, and the way forward again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from routines_app import service
from routines_app.models import Rotation, RotationSample, Routine, RoutineRun

RELEASED = ("routines", "0005_own_limits")
BEFORE_ROTATIONS = ("routines", "0007_hints")
BEFORE_BATCHES = ("routines", "0011_shadow")
BEFORE_SHADOW = ("routines", "0010_once")
BEFORE_ONCE = ("routines", "0009_declared")
BEFORE_DECLARED = ("routines", "0008_rotations")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def migrated_back(to: tuple[str, str] = RELEASED) -> Any:
    """The models of the older release."""
    MigrationExecutor(connection).migrate([to])
    return MigrationExecutor(connection).loader.project_state([to]).apps


@pytest.fixture
def forward_again(transactional_db: None) -> Iterator[None]:
    yield
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))


def run_of(routine: Routine, key: str, **values: Any) -> None:
    times = {"scheduled_for": NOON, "eligible_at": NOON, "started_at": NOON, "completed_at": NOON}
    RoutineRun.objects.create(routine=routine, task=routine.task, idempotency_key=key, **(times | values))


def a_rotation_with_history() -> Rotation:
    """One that has ticked, picked and seeded, with a member that is under way."""
    rotation = service.create_rotation("feeds", every="1m")
    member = service.create_routine("feed", task="celery.accumulate", rotation=rotation)
    run_of(rotation.routine, "s:1:1:1", status="SUCCESS", reason="picked")
    run_of(rotation.routine, "s:1:2:1", status="SKIPPED", reason="idle", started_at=None)
    run_of(rotation.routine, "s:1:3:1", status="SKIPPED", reason="full", started_at=None)
    run_of(member, "r:1:2:", status="SUCCESS", trigger="rotation", rotation=rotation, tick=UUID(int=1))
    counts = dict.fromkeys(("owed", "in_flight", "fresh", "failing", "left_out"), 0)
    RotationSample.objects.create(rotation=rotation, at=NOON, **counts)
    return rotation
