"""A body that holds the interpreter's lock: healthy until its time-out, and gone soon after it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from routines_app.coordination.wakeups import STOPS
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.service import cancel_run
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Body, Stack
from tests.processes import stretched

HOLD_GIL = "tests.acceptance.tasks.hold_gil"


@pytest.fixture
def orphan_seconds() -> float:
    """Longer where a heart, or a beat that looks for it, has to wait for a core."""
    return stretched(5.0)


@pytest.fixture
def stack(make_stack: StackFactory, orphan_seconds: float) -> Stack:
    settings = {
        "HEARTBEAT_SECONDS": 1.0,
        "ORPHAN_SECONDS": orphan_seconds,
        "LEASE_SECONDS": orphan_seconds - 1,
        "RECONCILE_SECONDS": 0.5,
        "STOP_GRACE_SECONDS": 1.0,
        "UNGUARDED_ORPHAN_SECONDS": 3 * orphan_seconds,
    }
    return make_stack(settings={"ROUTINES": settings})


def ended(stack: Stack, run: Rung, seconds: float) -> RoutineRun:
    stack.wait_until(lambda: run.refresh() not in ACTIVE, seconds, "the run did not end")
    return run.row


def body_of(stack: Stack, name: str, number: int = 1, seconds: float = 15) -> Body:
    bodies = stack.wait_until(lambda: stack.bodies(name)[number - 1 :], seconds, f"{name}: body {number} did not start")
    return bodies[0]


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_fault_36_a_body_that_holds_the_gil_is_not_taken_for_dead(
    stack: Stack, fault: Fault, orphan_seconds: float, pool: str
) -> None:
    """Row 36: for twice the orphan time; the routine's other slots are skipped, and no body overlaps."""
    held = 2 * orphan_seconds
    stack.beat()
    stack.worker(pool=pool)
    run = ring(routine("deaf", task=HOLD_GIL, kwargs={"seconds": held}, concurrency_policy="FORBID"))
    assert ended(stack, run, held + 17).status == RunStatus.SUCCESS
    assert len(stack.bodies("deaf")) == 1
    assert run.retries() == []
    assert (run.row.orphan_seconds is None) == (pool == "prefork")  # there no longer silence was allowed


def test_fault_36_beyond_its_time_out_it_is_ended(stack: Stack, fault: Fault) -> None:
    """Row 36: the parent kills its process; the run of another child and the next one are left alone."""
    stack.worker(concurrency=2)
    neighbour = ring(routine("neighbour", task=SLEEPY, kwargs={"seconds": 6}))
    deaf = routine("deaf", task=HOLD_GIL, kwargs={"seconds": 60}, timeout_ms=2000, max_attempts=1)
    run = ring(deaf)
    began = body_of(stack, "deaf").started
    row = ended(stack, run, 20)
    fault.recovered(time.monotonic() - began - 2, 8, "36: a body that holds the GIL is ended after its time-out")
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    assert ended(stack, ring(routine("next")), 15).status == RunStatus.SUCCESS
    assert ended(stack, neighbour, 15).status == RunStatus.SUCCESS


def test_fault_36_a_child_beats_by_itself_when_its_parent_is_frozen(
    stack: Stack, fault: Fault, orphan_seconds: float
) -> None:
    """And hears by itself that it is asked to stop; a frozen child is found, whoever beats."""
    stack.beat()
    worker = stack.worker(concurrency=1)
    other = stack.worker(concurrency=1, queues="other")
    run = ring(routine("orphaned parent", task=SLEEPY, kwargs={"seconds": 60}, concurrency_policy="FORBID"))
    body_of(stack, "orphaned parent")
    os.kill(worker.pid, signal.SIGSTOP)
    frozen = ring(routine("frozen", task=SLEEPY, kwargs={"seconds": 60}, queue="other"), send=False)
    frozen.send(queue="other")
    os.kill(body_of(stack, "frozen").pid, signal.SIGSTOP)
    assert (ended(stack, frozen, orphan_seconds + 20).reason, other.running) == (Reason.ORPHANED, True)
    assert run.refresh() == RunStatus.RUNNING
    stack.wait_until(lambda: stack.listeners(STOPS), 15, "nobody listens")
    cancel_run(run.id)
    assert ended(stack, run, 10).status == RunStatus.CANCELLED
    os.kill(worker.pid, signal.SIGCONT)
