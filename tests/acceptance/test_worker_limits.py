"""A task's own time limits, and those of a whole worker: they end bodies, never a Start or a Finish."""

from __future__ import annotations

import signal

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Stack
from tests.integration.holding import held, somebody_waits
from tests.processes import stretched

TASKS = "tests.acceptance.tasks"
SLEEPY = f"{TASKS}.sleepy"
LONG = {"kwargs": {"seconds": 60}, "max_attempts": 1}


def ended(stack: Stack, run: Rung) -> RoutineRun:
    stack.wait_until(lambda: run.refresh() not in ACTIVE, 30, f"{run.row.routine.name} did not end")
    return run.row


def seconds(row: RoutineRun) -> float:
    assert row.started_at is not None
    assert row.completed_at is not None
    return (row.completed_at - row.started_at).total_seconds()


def test_the_tightest_limit_holds(make_stack: StackFactory) -> None:
    """The routine's, the task's own, or the worker's, which a task without limits takes; 0 is none of the routine's."""
    stack = make_stack(settings={"ROUTINES": {"STOP_GRACE_SECONDS": 1.0}})
    worker = stack.worker(concurrency=5, arguments=("--soft-time-limit", "3"))
    found = [
        (1, ring(routine("the routine's", task=SLEEPY, timeout_ms=1000, **LONG))),
        (2, ring(routine("the task's", task=f"{TASKS}.limited", timeout_ms=60_000, **LONG))),
        (3, ring(routine("the worker's", task=SLEEPY, **LONG))),
        (3, ring(routine("the worker's, though none is wanted", task=SLEEPY, timeout_ms=0, **LONG))),
    ]
    lenient = ring(routine("its own end", task=f"{TASKS}.lenient", **LONG))
    for limit, run in found:
        row = ended(stack, run)
        assert (row.status, row.reason, row.error) == (RunStatus.FAILED, Reason.TIMEOUT, f"timed out after {limit:g} s")
        assert limit - 0.1 < seconds(row) < stretched(limit + 2)
    row = ended(stack, lenient)
    assert (row.status, row.error) == (RunStatus.FAILED, "timed out after 1 s")
    assert 3.9 < seconds(row) < stretched(6)  # its grace is until its hard limit, and then its process ends
    assert "Soft time limit" not in worker.log()  # the pool's parent counts from the delivery on


def test_a_limit_cuts_no_start_in_half(stack: Stack) -> None:
    """Celery's soft limit comes by a signal: one that comes while the start waits for the ledger is nobody's."""
    worker = stack.worker(concurrency=1)
    made = routine("waits at the start", concurrency_policy="FORBID")
    run = ring(made, send=False)
    with held("routinestate", "routine_id", [made.pk]):
        run.send()
        stack.wait_until(somebody_waits, 15, "the start does not wait")
        (child,) = worker.children()
        child.send_signal(signal.SIGUSR1)
    stack.wait_until(lambda: run.refresh() not in ACTIVE, 15, "the run did not end")
    assert (run.row.status, run.row.error, run.retries()) == (RunStatus.SUCCESS, "", [])


def test_a_limit_cuts_no_finish_in_half(stack: Stack) -> None:
    """The body has ended, and the ledger keeps its end waiting: the signal of a limit changes nothing about that."""
    worker = stack.worker(concurrency=1)
    made = routine("waits at the end", task=SLEEPY, kwargs={"seconds": 0.5})
    run = ring(made)
    stack.wait_until(lambda: stack.bodies("waits at the end"), 15, "the run did not start")
    with held("routinestate", "routine_id", [made.pk]):
        stack.wait_until(lambda: stack.bodies("waits at the end")[0].ended, 15, "the body did not end")
        stack.wait_until(somebody_waits, 15, "the end does not wait")
        (child,) = worker.children()
        child.send_signal(signal.SIGUSR1)
        stack.wait_until(somebody_waits, 15, "the end does not wait any more")
    stack.wait_until(lambda: run.refresh() not in ACTIVE, 15, "the end was not recorded")
    assert (run.row.status, run.row.error, run.retries()) == (RunStatus.SUCCESS, "", [])
    worker.wait_for_log(f"[{run.id}] succeeded")  # and what follows the commit has happened
    assert [each.pid for each in worker.children()] == [child.pid]
