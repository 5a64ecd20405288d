"""Redis and the database go away under a worker: rows 13 and 16 of docs/faults.md."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import IMPATIENT, IMPATIENT_RECOVERY_SECONDS, Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack
from tests.processes import knocks

SLEEPY = "tests.acceptance.tasks.sleepy"


def test_fault_13_flushing_redis_under_exclusive_runs_lets_none_overlap(stack: Stack, fault: Fault) -> None:
    """Row 13: the running key holds when every lease is forgotten."""
    stack.worker(concurrency=4)
    made = routine("alone", task=SLEEPY, kwargs={"seconds": 4}, concurrency_policy="FORBID")
    first = ring(made)
    stack.wait_until(lambda: stack.bodies("alone"), 15, "it did not start")
    refused = (Reason.KEY_TAKEN, Reason.LEASE_HELD)
    others = [ring(made, send=False) for _ in range(3)]
    for other in others:
        stack.redis.flushall()
        other.send()
        stack.wait_until(lambda other=other: other.refresh() and other.row.reason in refused, 10, "it was not refused")
    stack.wait_until(lambda: first.refresh() == RunStatus.SUCCESS, 15, "the first run did not succeed")
    free_at = time.monotonic()
    for other in others:
        other.send()
        stack.wait_until(lambda other=other: other.refresh() != RunStatus.PENDING, 15, "it never started")
        stack.wait_until(lambda other=other: other.refresh() == RunStatus.SUCCESS, 15, "it did not succeed")
    bodies = stack.bodies("alone")
    fault.recovered(time.monotonic() - free_at, 60, "13: three runs after another, every lease forgotten")
    assert len(bodies) == 4
    assert [body.fence for body in bodies] == [1, 2, 3, 4]
    for one, other in pairwise(bodies):
        assert one.ended is not None
        assert one.ended <= other.started


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_fault_16_a_run_that_ends_while_the_database_is_away_is_recorded_afterwards(
    make_stack: StackFactory, fault: Fault, pool: str
) -> None:
    """Row 16: the worker tries again until the ledger is back, and never says what was not recorded."""
    stack = make_stack(own_postgres=True)
    stack.worker(pool=pool)
    run = ring(routine("ends in the dark", task=SLEEPY, kwargs={"seconds": 3}, concurrency_policy="FORBID"))
    stack.wait_until(lambda: stack.bodies("ends in the dark"), 15, "it did not start")
    assert stack.postgres is not None
    stack.postgres.kill()
    stack.wait_until(lambda: stack.bodies("ends in the dark")[0].ended, 15, "the body did not end")
    with knocks(stack.postgres.port) as tries:
        stack.wait_until(lambda: len(tries) >= 4, 15, "nobody tried to record it")
    stack.postgres.start()
    came_back_at = time.monotonic()
    stack.wait_until(lambda: run.refresh() == RunStatus.SUCCESS, 15, "the success was not recorded")
    fault.recovered(time.monotonic() - came_back_at, 15, f"16: recorded after the database's return ({pool})")
    assert run.retries() == []
    after = ring(routine("after"))
    stack.wait_until(lambda: after.refresh() == RunStatus.SUCCESS, 15, "the worker did not go on")


@pytest.mark.slow
def test_fault_16_a_success_that_could_not_be_recorded_is_no_success(make_stack: StackFactory, fault: Fault) -> None:
    """Row 16: the worker died before it could write; the run is orphaned and tried again."""
    stack = make_stack(own_postgres=True, settings={"ROUTINES": IMPATIENT})
    worker = stack.worker()
    run = ring(routine("unheard", task=SLEEPY, kwargs={"seconds": 2}))
    stack.wait_until(lambda: stack.bodies("unheard"), 15, "it did not start")
    assert stack.postgres is not None
    stack.postgres.kill()
    stack.wait_until(lambda: stack.bodies("unheard")[0].ended, 15, "the body did not end")
    worker.kill9()
    stack.postgres.start()
    stack.beat()
    back_at = time.monotonic()
    stack.wait_until(lambda: run.refresh() == RunStatus.FAILED, 60, "the run was not found")
    fault.recovered(
        time.monotonic() - back_at, IMPATIENT_RECOVERY_SECONDS, "16: a success that nobody recorded is found to be none"
    )
    assert run.row.reason == Reason.ORPHANED
    assert [retry.attempt for retry in run.retries()] == [2]
    assert not RoutineRun.objects.filter(status=RunStatus.SUCCESS).exists()
