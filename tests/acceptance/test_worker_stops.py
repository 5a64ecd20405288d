"""Time-outs, cancellations and replacements: enforced inside the worker's process. Rows 20, 21 of docs/faults.md."""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import pairwise

import pytest

from routines_app import service
from routines_app.coordination.wakeups import STOPS
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from tests.acceptance.app import app
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Body, Stack
from tests.processes import stretched

TASKS = "tests.acceptance.tasks"
SLEEPY = f"{TASKS}.sleepy"
POOLS = ["prefork", "threads", "gevent", "solo"]


def body_of(stack: Stack, name: str) -> Body:
    return stack.wait_until(lambda: stack.bodies(name), 15, f"{name} did not start")[0]


def ended(stack: Stack, run: Rung, seconds: float) -> RoutineRun:
    stack.wait_until(lambda: run.refresh() not in ACTIVE, seconds, "the run did not end")
    return run.row


@pytest.mark.parametrize("pool", POOLS)
def test_a_run_that_takes_too_long_is_interrupted(stack: Stack, pool: str) -> None:
    """In every kind of pool, within about a second of its time-out, and the worker goes on."""
    stack.worker(pool=pool)
    run = ring(routine("slow", task=SLEEPY, kwargs={"seconds": 30}, timeout_ms=2000, max_attempts=1))
    row = ended(stack, run, 15)
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    body = body_of(stack, "slow")
    assert body.how == "SoftTimeLimitExceeded"
    assert body.ended is not None
    assert 1.9 < body.ended - body.started < stretched(4)
    assert ended(stack, ring(routine("next")), 10).status == RunStatus.SUCCESS


@pytest.mark.parametrize("pool", POOLS)
def test_a_cancelled_run_stops_at_once(stack: Stack, pool: str) -> None:
    """Through the service; the run ends CANCELLED and is not retried."""
    stack.worker(pool=pool)
    run = ring(routine("long", task=SLEEPY, kwargs={"seconds": 60}))
    body_of(stack, "long")
    stack.wait_until(lambda: stack.listeners(STOPS), 15, "the heart does not listen")
    asked_at = time.monotonic()
    service.cancel_run(run.id, reason="enough")
    row = ended(stack, run, 10)
    print(f"stopped after {time.monotonic() - asked_at:.2f} s")
    assert (row.status, row.reason, row.error) == (RunStatus.CANCELLED, Reason.CANCELLED, "cancelled: enough")
    assert run.retries() == []


def test_fault_20_a_task_that_swallows_its_cancellation_is_killed_after_the_grace(stack: Stack, fault: Fault) -> None:
    """Row 20: its process ends, another one takes its place, and the ledger says what happened."""
    stack.worker(concurrency=1)
    run = ring(routine("stubborn", task=f"{TASKS}.swallow", kwargs={"seconds": 60}))
    pid = body_of(stack, "stubborn").pid
    service.cancel_run(run.id)
    asked_at = time.monotonic()
    row = ended(stack, run, 15)
    fault.recovered(time.monotonic() - asked_at, 15, "20: a body that swallows its cancellation is gone")
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)
    assert ended(stack, ring(routine("next")), 15).status == RunStatus.SUCCESS
    assert stack.bodies("next")[0].pid != pid
    assert stack.bodies("stubborn")[0].ended is None
    assert run.retries() == []


def test_a_body_that_holds_the_interpreter_is_killed_by_celerys_own_limit(stack: Stack) -> None:
    """No thread of its process gets a turn, so the parent has to act."""
    stack.worker(concurrency=1)
    run = ring(
        routine("deaf", task=f"{TASKS}.hold_gil", kwargs={"seconds": 30}, timeout_ms=1000, max_attempts=1), send=False
    )
    run.send(time_limit=3)
    row = ended(stack, run, 15)
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    assert ended(stack, ring(routine("next")), 15).status == RunStatus.SUCCESS


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_a_body_that_cannot_be_stopped_is_not_pretended_away(stack: Stack, policy: str) -> None:
    """In threads: an exclusive run stays RUNNING and overdue until its body returns; another one is abandoned."""
    stack.worker(pool="threads")
    made = routine(
        "stubborn",
        task=f"{TASKS}.swallow",
        kwargs={"seconds": 12},
        timeout_ms=1000,
        max_attempts=1,
        concurrency_policy=policy,
    )
    run = ring(made)
    if policy == "FORBID":
        stack.wait_until(lambda: run.refresh() and run.row.reason == Reason.OVERDUE, 12, "it was not marked")
        assert run.row.status == RunStatus.RUNNING
    row = ended(stack, run, 20)
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    returned = stack.bodies("stubborn")[0].ended is not None
    assert returned == (policy == "FORBID")


def test_a_revocation_through_celery_is_a_cancellation(stack: Stack) -> None:
    """With `terminate` of what runs, and without of what has not started."""
    stack.worker(concurrency=1)
    running = ring(routine("long", task=SLEEPY, kwargs={"seconds": 60}))
    body_of(stack, "long")
    waiting = ring(routine("waiting"))
    app.control.revoke(str(waiting.id))
    app.control.revoke(str(running.id), terminate=True)
    assert ended(stack, running, 15).status == RunStatus.CANCELLED
    assert ended(stack, waiting, 15).status == RunStatus.CANCELLED
    assert stack.bodies("waiting") == []
    assert ended(stack, ring(routine("next")), 15).status == RunStatus.SUCCESS


@pytest.mark.slow
def test_fault_21_replace_every_second_over_a_slow_task_runs_the_newest(stack: Stack, fault: Fault) -> None:
    """Row 21: never two bodies at a time; the last of six slots is the one that finishes."""
    stack.beat()
    stack.worker(concurrency=3)
    first = clock.now().replace(microsecond=0) + timedelta(seconds=2)
    newest = first + timedelta(seconds=5)
    made = service.create_routine(
        "newest",
        task=SLEEPY,
        kwargs={"seconds": 4},
        every="1s",
        start_at=first,
        end_at=newest,
        concurrency_policy="REPLACE",
        max_attempts=1,
    )
    slots = RoutineRun.objects.filter(routine=made)
    last = Rung(stack.wait_until(slots.filter(scheduled_for=newest).first, 30, "the last slot did not fire"))
    row = ended(stack, last, 40)
    assert row.status == RunStatus.SUCCESS
    fault.recovered((row.completed_at - newest).total_seconds(), 40, "21: the newest of six slots has run its 4 s")
    bodies = stack.bodies("newest")
    assert len(bodies) > 1
    for one, other in pairwise(bodies):
        assert one.ended is not None
        assert one.ended <= other.started
    others = slots.exclude(id=last.id)
    assert others.count() == 5
    assert set(others.values_list("status", "reason")) == {(RunStatus.CANCELLED, Reason.REPLACED)}
