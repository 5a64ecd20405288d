"""A stranger holds the row of one run locked, for longer than a heart may be silent."""

from __future__ import annotations

import time

from django.db import transaction

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.ringing import Rung, ring, routine
from tests.processes import stretched

POOLS = ["threads", "prefork"]


def test_fault_31_a_locked_run_row_silences_no_worker(make_stack: StackFactory, fault: Fault) -> None:
    """Row 31: neither the run whose row it is nor its neighbours in the same process are taken for dead."""
    silent = stretched(4.0)  # a heart that waits for a core is not dead either
    stack = make_stack(
        settings={
            "ROUTINES": {
                "HEARTBEAT_SECONDS": 1.0,
                "ORPHAN_SECONDS": silent,
                "UNGUARDED_ORPHAN_SECONDS": silent,
                "LEASE_SECONDS": 3.0,
                "RECONCILE_SECONDS": 0.5,
            }
        }
    )
    stack.beat()
    for pool in POOLS:
        stack.worker(pool=pool, concurrency=2, queues=pool)
    over = stack.directory / "over"

    def rung(pool: str, number: int) -> Rung:
        waits = {"seconds": 300, "until": str(over)}
        run = ring(routine(f"{pool} {number}", task=SLEEPY, kwargs=waits, queue=pool, max_attempts=1), send=False)
        run.send(queue=pool)
        return run

    runs = {pool: [rung(pool, number) for number in range(2)] for pool in POOLS}
    stack.wait_until(lambda: len(stack.bodies()) == 4, 15, "the runs did not start")
    locked = [runs[pool][0].id for pool in POOLS]  # the other of each worker is its neighbour
    with transaction.atomic():
        list(RoutineRun.objects.select_for_update().filter(id__in=locked))
        time.sleep(silent + 3)
    over.touch()
    for run in (run for of_pool in runs.values() for run in of_pool):
        stack.wait_until(lambda run=run: run.refresh() not in ACTIVE, 20, "a run did not end")
        assert run.row.status == RunStatus.SUCCESS
    assert len(stack.bodies()) == 4
