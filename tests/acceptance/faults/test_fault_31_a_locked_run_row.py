"""A stranger holds the row of one run locked, for longer than a heart may be silent."""

from __future__ import annotations

import time

from django.db import transaction

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.ringing import ring, routine

QUICK = {
    "HEARTBEAT_SECONDS": 1.0,
    "ORPHAN_SECONDS": 4.0,
    "UNGUARDED_ORPHAN_SECONDS": 4.0,
    "LEASE_SECONDS": 3.0,
    "RECONCILE_SECONDS": 0.5,
}
LOCKED_SECONDS = 7.0


def test_fault_31_a_locked_run_row_silences_no_worker(make_stack: StackFactory, fault: Fault) -> None:
    """Row 31: neither the run whose row it is nor its neighbours in the same process are taken for dead."""
    stack = make_stack(settings={"ROUTINES": QUICK})
    stack.beat()
    stack.worker(pool="threads", concurrency=2)
    stack.worker(pool="prefork", concurrency=2)
    runs = [ring(routine(f"run {n}", task=SLEEPY, kwargs={"seconds": 14}, max_attempts=1)) for n in range(4)]
    stack.wait_until(lambda: len(stack.bodies()) == 4, 15, "the runs did not start")
    for worker in ("worker1", "worker2"):
        held = RoutineRun.objects.filter(status=RunStatus.RUNNING, worker__startswith=worker).order_by("id")
        assert held.count() == 2
    with transaction.atomic():
        ids = {run.worker[:7]: run.id for run in RoutineRun.objects.filter(status=RunStatus.RUNNING)}
        list(RoutineRun.objects.select_for_update().filter(id__in=ids.values()))
        time.sleep(LOCKED_SECONDS)
    for run in runs:
        stack.wait_until(lambda run=run: run.refresh() not in ACTIVE, 20, "a run did not end")
        assert run.row.status == RunStatus.SUCCESS
    assert len(stack.bodies()) == 4
