"""Workers and children that die, freeze or are told to stop: rows 7 to 11, 19 and 29 of docs/faults.md."""

from __future__ import annotations

import json
import os
import signal
import time

import psutil
import pytest

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Node, Role, RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import IMPATIENT, IMPATIENT_RECOVERY_SECONDS, Fault
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Body, Stack

TASKS = "tests.acceptance.tasks"
SLEEPY = f"{TASKS}.sleepy"


def body_of(stack: Stack, name: str, number: int = 1, seconds: float = 15) -> Body:
    """The n-th body of a routine, once it has started."""
    bodies = stack.wait_until(lambda: stack.bodies(name)[number - 1 :], seconds, f"{name}: body {number} did not start")
    return bodies[0]


def ended(stack: Stack, run: Rung, seconds: float) -> RoutineRun:
    stack.wait_until(lambda: run.refresh() not in ACTIVE, seconds, "the run did not end")
    return run.row


def test_fault_07_a_killed_child_is_recorded_within_seconds_and_retried(stack: Stack, fault: Fault) -> None:
    """Row 7: the parent sees the death and writes it."""
    stack.worker()
    run = ring(routine("killed", task=SLEEPY, kwargs={"seconds": 30}))
    os.kill(body_of(stack, "killed").pid, signal.SIGKILL)
    killed_at = time.monotonic()
    row = ended(stack, run, 10)
    fault.recovered(time.monotonic() - killed_at, 5, "7: the death of a child is recorded")
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.WORKER_LOST)
    [retry] = run.retries()
    assert (retry.status, retry.trigger, retry.attempt) == (RunStatus.PENDING, RunTrigger.RETRY, 2)


def test_fault_07_a_killed_child_is_seen_as_fast_after_the_broker_was_away(stack: Stack, fault: Fault) -> None:
    """A new connection begins with an empty event loop; the look for dead children must be in it again."""
    worker = stack.worker()
    run = ring(routine("killed", task=SLEEPY, kwargs={"seconds": 60}))
    body = body_of(stack, "killed")
    stack.redis.kill()
    worker.wait_for_log("Connection to broker lost")
    stack.redis.start()
    reconnected = "the worker did not reconnect"
    stack.wait_until(lambda: worker.log().count("Connected to redis") == 2, 20, reconnected)
    os.kill(body.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    row = ended(stack, run, 10)
    fault.recovered(time.monotonic() - killed_at, 2.5, "7: the death of a child is recorded, after a reconnection")
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.WORKER_LOST)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "patience", "within"),
    [
        pytest.param("FORBID", {}, 40, id="FORBID"),
        pytest.param("ALLOW", IMPATIENT, IMPATIENT_RECOVERY_SECONDS, id="ALLOW"),
    ],
)
def test_fault_08_a_killed_worker_is_found_and_its_run_retried(
    make_stack: StackFactory, fault: Fault, policy: str, patience: dict[str, int], within: int
) -> None:
    """Rows 8 and 22: orphaned, the lease free, and a new attempt running within 40 s."""
    stack = make_stack(settings={"ROUTINES": patience})
    stack.beat()
    worker = stack.worker()
    run = ring(routine("orphan", task=SLEEPY, kwargs={"seconds": 60}, concurrency_policy=policy))
    body_of(stack, "orphan")
    worker.kill9()
    killed_at = time.monotonic()
    stack.worker()
    second = body_of(stack, "orphan", 2, seconds=60)
    took = second.started - killed_at
    fault.recovered(took, within, f"8: a killed worker's run is tried again ({policy})")
    run.refresh()
    assert (run.row.status, run.row.reason) == (RunStatus.FAILED, Reason.ORPHANED)
    assert second.attempt == 2
    assert second.fence == (None if policy == "ALLOW" else 2)


def test_fault_09_a_message_that_was_lost_before_the_start_goes_back(stack: Stack, fault: Fault) -> None:
    """Row 9, as far as the worker sees it: the child dies between acknowledgement and start."""
    stack.worker(ROUTINES_CRASH_AT="before-start:SIGKILL")
    run, rung_at = ring(routine("unlucky")), time.monotonic()
    stack.wait_until(lambda: run.refresh() and run.row.reason == Reason.WORKER_LOST, 15, "the run was not handed back")
    fault.recovered(time.monotonic() - rung_at, 15, "9: a run whose child died before the start is handed back")
    assert (run.row.status, run.row.dispatched_at, run.row.attempt) == (RunStatus.PENDING, None, 1)
    assert run.row.publish_after is not None


@pytest.mark.slow
def test_fault_10_a_frozen_child_that_wakes_up_records_nothing(make_stack: StackFactory, fault: Fault) -> None:
    """Row 10: a new attempt ran meanwhile, and the old body finds that it has lost its row."""
    stack = make_stack(settings={"ROUTINES": IMPATIENT})
    stack.beat()
    worker = stack.worker(concurrency=2)
    run = ring(routine("frozen", task=SLEEPY, kwargs={"seconds": 45}, concurrency_policy="FORBID", max_attempts=2))
    first = body_of(stack, "frozen")
    os.kill(first.pid, signal.SIGSTOP)
    frozen_at = time.monotonic()
    second = body_of(stack, "frozen", 2, seconds=60)
    fault.recovered(second.started - frozen_at, IMPATIENT_RECOVERY_SECONDS, "10: a frozen child's run is tried again")
    assert (first.fence, second.fence) == (1, 2)
    os.kill(first.pid, signal.SIGCONT)
    stack.wait_until(lambda: stack.bodies("frozen")[0].ended, 20, "the old body was not interrupted")
    assert stack.bodies("frozen")[0].how == "Stopped"
    run.refresh()
    assert (run.row.status, run.row.reason) == (RunStatus.FAILED, Reason.ORPHANED)
    assert worker.running
    assert [retry.status for retry in run.retries()] == [RunStatus.RUNNING]


@pytest.mark.parametrize("pool", ["prefork", "threads", "gevent", "solo"])
def test_fault_11_a_warm_shutdown_lets_the_run_finish(stack: Stack, fault: Fault, pool: str) -> None:
    """Row 11: SIGTERM to the worker; the node is marked while it drains and gone afterwards."""
    worker = stack.worker(pool=pool)
    run = ring(routine("long", task=SLEEPY, kwargs={"seconds": 4}))
    body_of(stack, "long")
    nodes = Node.objects.filter(role=Role.WORKER)
    stack.wait_until(lambda: nodes.exists(), 10, "the worker did not report itself")
    worker.terminate()
    told_at = time.monotonic()
    if pool != "solo":  # whose only thread is busy
        stack.wait_until(lambda: nodes.filter(draining=True).exists(), 5, "the node was not marked as draining")
    assert ended(stack, run, 15).status == RunStatus.SUCCESS
    worker.wait(15)
    fault.recovered(time.monotonic() - told_at, 20, f"11: a warm shutdown, the run included ({pool})")
    assert not nodes.exists()


@pytest.mark.parametrize("pool", ["prefork", "threads", "gevent"])
def test_fault_11_a_cold_shutdown_interrupts_and_replaces_without_using_up_the_budget(
    stack: Stack, fault: Fault, pool: str
) -> None:
    """Row 11, the hard way: SIGQUIT."""
    worker = stack.worker(pool=pool)
    run = ring(routine("long", task=SLEEPY, kwargs={"seconds": 60}))
    body_of(stack, "long")
    os.kill(worker.pid, signal.SIGQUIT)
    told_at = time.monotonic()
    row = ended(stack, run, 15)
    fault.recovered(time.monotonic() - told_at, 15, f"11: a cold shutdown hands the run on ({pool})")
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.INTERRUPTED)
    [new] = run.retries()
    assert (new.status, new.attempt, new.budget_used) == (RunStatus.PENDING, 2, 1)
    worker.wait(15)


def test_fault_11_a_soft_shutdown_marks_the_node_and_lets_the_run_finish(stack: Stack, fault: Fault) -> None:
    """SIGQUIT with a soft time: what ends within it succeeds, and nobody takes the worker for an idle one."""
    patient = json.dumps(stack.settings | {"CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT": 6})
    worker = stack.worker(ROUTINES_TEST_SETTINGS=patient)
    short = ring(routine("short", task=SLEEPY, kwargs={"seconds": 3}))
    long = ring(routine("long", task=SLEEPY, kwargs={"seconds": 60}))
    body_of(stack, "short")
    body_of(stack, "long")
    os.kill(worker.pid, signal.SIGQUIT)
    told_at = time.monotonic()
    draining = Node.objects.filter(role=Role.WORKER, draining=True)
    stack.wait_until(lambda: draining.exists(), 2.5, "the node was not marked as draining")
    assert ended(stack, short, 15).status == RunStatus.SUCCESS
    row = ended(stack, long, 20)
    fault.recovered(time.monotonic() - told_at, 20, "11: a soft shutdown of 6 s hands on what did not finish")
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.INTERRUPTED)
    assert [new.budget_used for new in long.retries()] == [1]
    worker.wait(15)


def test_fault_11_a_child_that_is_terminated_hands_its_run_on(stack: Stack, fault: Fault) -> None:
    """A service manager sends SIGTERM to every process of the worker, children too."""
    stack.worker()
    run = ring(routine("long", task=SLEEPY, kwargs={"seconds": 60}))
    os.kill(body_of(stack, "long").pid, signal.SIGTERM)
    told_at = time.monotonic()
    row = ended(stack, run, 15)
    fault.recovered(time.monotonic() - told_at, 15, "11: a terminated child hands its run on")
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.INTERRUPTED)
    assert [new.budget_used for new in run.retries()] == [1]


@pytest.mark.parametrize("task", ["segfault", "exit_hard"])
def test_fault_19_a_task_that_kills_its_process_is_exhausted_and_parked(stack: Stack, fault: Fault, task: str) -> None:
    """Row 19: its attempts are used up, and its neighbours keep running."""
    stack.beat()
    stack.worker()
    made = routine("deadly", task=f"{TASKS}.{task}", max_attempts=2, park_after=1)
    run, rung_at = ring(made), time.monotonic()
    neighbour = ring(routine("neighbour", task=SLEEPY, kwargs={"seconds": 3}))
    stack.wait_until(lambda: made.refresh_from_db() or made.status == RoutineStatus.PARKED, 40, "it was not parked")
    fault.recovered(time.monotonic() - rung_at, 40, f"19: two deaths and parked ({task})")
    assert [(retry.status, retry.reason) for retry in run.retries()] == [(RunStatus.FAILED, Reason.WORKER_LOST)]
    assert ended(stack, neighbour, 20).status == RunStatus.SUCCESS
    after = ring(routine("after"))
    assert ended(stack, after, 15).status == RunStatus.SUCCESS


@pytest.mark.slow
def test_fault_19_a_task_that_eats_all_memory_fails_alone(stack: Stack, fault: Fault) -> None:
    """Row 19: with a limit on the child it is a MemoryError, which is just its failure."""
    worker = stack.worker()
    for child in worker.children():
        child.rlimit(psutil.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
    rung_at = time.monotonic()
    run = ring(routine("hungry", task=f"{TASKS}.eat_memory", kwargs={"megabytes": 4000}, max_attempts=1))
    neighbour = ring(routine("neighbour"))
    assert ended(stack, run, 30).status == RunStatus.FAILED
    fault.recovered(time.monotonic() - rung_at, 30, "19: a task that eats all memory has failed")
    assert ended(stack, neighbour, 15).status == RunStatus.SUCCESS


@pytest.mark.slow
def test_fault_29_two_reconcilers_make_one_retry(make_stack: StackFactory, fault: Fault) -> None:
    """Row 29: both beats see the orphan, one compare-and-set wins."""
    stack = make_stack(settings={"ROUTINES": IMPATIENT})
    stack.beat()
    stack.beat()
    worker = stack.worker()
    run = ring(routine("orphan", task=SLEEPY, kwargs={"seconds": 60}))
    body_of(stack, "orphan")
    worker.kill9()
    killed_at = time.monotonic()
    row = ended(stack, run, 45)
    fault.recovered(time.monotonic() - killed_at, IMPATIENT_RECOVERY_SECONDS, "29: two beats have found one orphan")
    assert row.reason == Reason.ORPHANED
    assert len(run.retries()) == 1
