"""Faults 34 and 39: rows that cannot be read, and a constraint of the project's own under the upkeep."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection

from routines_app import service
from routines_app.models import Routine, RoutineRun, new_run_id
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault, ready_beats

FAST = {"HEARTBEAT_SECONDS": 0.5, "ORPHAN_SECONDS": 2.0, "LEASE_SECONDS": 3.0, "RECONCILE_SECONDS": 1.0}


def execute(statement: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def old_run_of(routine: Routine, *, number: int) -> RoutineRun:
    """One that is old enough to be pruned."""
    now = datetime.now(UTC)
    return RoutineRun.objects.create(
        id=UUID(int=new_run_id().int - (40 * 86_400_000 << 80)),
        routine=routine,
        status="CANCELLED",
        trigger="manual",
        task=NOTE,
        scheduled_for=now,
        eligible_at=now,
        completed_at=now,
        idempotency_key=f"m:old:{number}",
    )


@pytest.mark.slow
def test_fault_34_and_39_a_broken_row_is_parked_and_upkeep_goes_on_beside_a_constraint(
    make_stack: StackFactory, fault: Fault
) -> None:
    """The routine is parked with the reason, the others tick, and a dead worker's run is found: all in one fleet."""
    stack = make_stack(settings={"ROUTINES": FAST})
    broken = service.create_routine("broken", task=NOTE, every="1s")
    service.create_routine("sound", task=NOTE, every="1s")
    dead = service.create_routine("dead", task=SLEEPY, args=[300], max_attempts=2)
    kept, pruned = old_run_of(dead, number=1), old_run_of(dead, number=2)
    execute("CREATE TABLE shop_order (run_id uuid NOT NULL REFERENCES routines_routinerun (id))")
    execute("INSERT INTO shop_order VALUES (%s)", kept.pk)
    beat, worker = stack.beat(), stack.worker()
    ready_beats(stack, 1)
    run = service.run_now("dead")
    stack.wait_until(lambda: RoutineRun.objects.get(pk=run.pk).status == "RUNNING", 15, "it did not start")
    worker.kill9()
    execute("UPDATE routines_routine SET end_at = 'infinity' WHERE id = %s", broken.pk)
    began, broke = time.monotonic(), datetime.now(UTC)

    parked = Routine.objects.filter(pk=broken.pk, status="PARKED")
    stack.wait_until(parked.exists, 10, "the broken one still ticks")
    fault.recovered(time.monotonic() - began, 5, "34: a routine whose row cannot be read is parked")
    assert "infinity" in parked.get().pause_reason
    ticked = RoutineRun.objects.filter(routine__name="sound", scheduled_for__gt=broke)
    stack.wait_until(lambda: ticked.count() >= 2, 10, "the sound routine stopped ticking")

    stack.wait_until(lambda: RoutineRun.objects.filter(retry_of_id=run.pk).exists(), 20, "the orphan was never found")
    fault.recovered(time.monotonic() - began, 10, "39: an orphan is found beside a constraint that forbids to prune")
    stack.wait_until(lambda: not RoutineRun.objects.filter(pk=pruned.pk).exists(), 10, "nothing is pruned behind it")
    assert RoutineRun.objects.filter(pk=kept.pk).exists()
    assert beat.log().count("old runs that other rows refer to are kept") == 1
    assert "is away" not in beat.log()

    service.reset_routine("broken")
    again = RoutineRun.objects.filter(routine=broken, scheduled_for__gt=broke)
    stack.wait_until(again.exists, 10, "mended, and does not fire")
