"""0006: what was asked for before, and is active still, has its place in the queue; its retries too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

BEFORE, AFTER = ("routines", "0005_own_limits"), ("routines", "0006_queue_and_default_pool")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def migrated(to: tuple[str, str]) -> Any:
    MigrationExecutor(connection).migrate([to])
    return MigrationExecutor(connection).loader.project_state([to]).apps.get_model("routines", "RoutineRun")


@pytest.fixture
def before(transactional_db: None) -> Iterator[Any]:
    try:
        yield migrated(BEFORE)
    finally:
        MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))


def test_requests_and_their_retries_have_a_place(before: Any) -> None:
    """A retry that of its first run; what has ended and what nobody asked for have none."""
    routine = before._meta.get_field("routine").related_model.objects.create(name="r", task="t", trigger_kind="MANUAL")
    ended = {"status": "FAILED", "completed_at": NOON}
    for key, values in {
        "m:1:ended:1": {"trigger": "manual", **ended},
        "m:1:ended:2": {"trigger": "retry", "eligible_at": LATER},
        "m:1:waits:1": {"trigger": "manual"},
        "s:1:5:2": {"trigger": "retry", "eligible_at": LATER},
        "s:1:6:1": {"trigger": "schedule"},
    }.items():
        times = {"scheduled_for": NOON, "eligible_at": NOON}
        before.objects.create(routine=routine, task="t", idempotency_key=key, **(times | values))
    runs = migrated(AFTER).objects.filter(requested_at__isnull=False)
    assert dict(runs.values_list("idempotency_key", "requested_at")) == {"m:1:ended:2": NOON, "m:1:waits:1": NOON}
