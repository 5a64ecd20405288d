"""Pruning beside what must not be deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from routines_app import service
from routines_app.models import OldFire, RoutineRun, RunLog, new_run_id
from routines_app.protocol.upkeep import prune
from tests.acceptance.ringing import ring, routine
from tests.integration.holding import held, needs_row_locks

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.fixture
def orders(ledger: None) -> Iterator[None]:
    """A table of the project's own that refers to runs."""
    run = RoutineRun._meta.get_field("id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE shop_order (run_id {run.db_type(connection)} NOT NULL REFERENCES routines_routinerun (id))"
            if connection.vendor != "mysql"
            else f"CREATE TABLE shop_order (run_id {run.db_type(connection)} NOT NULL,"
            " FOREIGN KEY (run_id) REFERENCES routines_routinerun (id))"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE shop_order")


def old_runs(count: int) -> list[UUID]:
    made = routine("old")
    first = new_run_id().int - (40 * 86_400_000 << 80)
    ids = [UUID(int=first + number) for number in range(count)]
    for run_id in ids:
        run = ring(made, send=False, id=run_id)
        RoutineRun.objects.filter(id=run.id).update(status="CANCELLED", completed_at=timezone.now(), publish_after=None)
        RunLog.objects.create(run_id=run_id, at=timezone.now(), line="a line")
    return ids


def refer_to(*run_ids: UUID) -> None:
    with connection.cursor() as cursor:
        for run_id in run_ids:
            cursor.execute(
                "INSERT INTO shop_order VALUES (%s)", [run_id.hex if connection.vendor != "postgresql" else run_id]
            )


@pytest.mark.usefixtures("orders")
def test_runs_that_other_rows_refer_to_are_kept_and_the_sweep_goes_on_behind_them(
    caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    """With their log lines. It is said once, and the next sweep comes later."""
    settings.ROUTINES = settings.ROUTINES | {"PRUNE_BATCH": 4}
    ids = old_runs(10)
    refer_to(ids[0], ids[1], ids[6])
    sweep = prune.Sweep()
    batches = []
    while (batch := sweep.once(timezone.now())) is not None:
        batches.append(batch)
    assert batches == [2, 3, 2]
    assert list(RoutineRun.objects.order_by("id").values_list("id", flat=True)) == [ids[0], ids[1], ids[6]]
    assert RunLog.objects.count() == 3
    assert sweep.once(timezone.now()) is None, "it rests"
    assert len([line for line in caplog.messages if "are kept" in line]) == 1


@pytest.mark.usefixtures("orders")
def test_pruning_by_hand_goes_on_behind_them_too() -> None:
    ids = old_runs(5)
    refer_to(ids[0])
    assert service.prune_runs(30) == 4
    assert RoutineRun.objects.get().pk == ids[0]


@needs_row_locks
def test_a_run_that_somebody_holds_is_pruned_another_time() -> None:
    """Nobody is waited for."""
    ids = old_runs(3)
    with held("routinerun", "id", [ids[1].hex if connection.vendor == "mysql" else ids[1]]):
        assert prune.Sweep().once(timezone.now()) == 2
    assert prune.Sweep().once(timezone.now()) == 1


def test_old_fires_go_with_the_runs_of_their_time_but_for_the_last() -> None:
    """What old schedulers fired; a switch-over goes on from the last one of each entry."""
    now = timezone.now()
    for key, days in (("daily", 0), ("daily", 40), ("daily", 41), ("yearly", 200), ("yearly", 565)):
        at = now - timedelta(days=days)
        OldFire.objects.create(scheduler="celery-redbeat", key=key, task_id=f"{key} {days}", fired_at=at)
    assert prune.forget_old_fires(now) == 3
    assert set(OldFire.objects.values_list("task_id", flat=True)) == {"daily 0", "yearly 200"}
    assert prune.forget_old_fires(now) == 0
