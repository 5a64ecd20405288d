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
from tests.acceptance.conftest import StackFactory
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
    """No thread of its process gets a turn, so the parent has to act; behind the pacemaker stands this."""
    stack.worker(concurrency=1)
    run = ring(
        routine("deaf", task=f"{TASKS}.hold_gil", kwargs={"seconds": 30}, timeout_ms=1000, max_attempts=1), send=False
    )
    run.send(time_limit=3)
    row = ended(stack, run, 15)
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    assert ended(stack, ring(routine("next")), 15).status == RunStatus.SUCCESS


@pytest.mark.parametrize("pool", ["threads", "gevent"])
def test_a_body_that_cannot_be_stopped_is_not_pretended_away(make_stack: StackFactory, pool: str) -> None:
    """It stays RUNNING and overdue, under every policy, keeps its place and blocks its retry, until it returns."""
    stack = make_stack(settings={"ROUTINES": {"STOP_GRACE_SECONDS": 1.0}})
    stack.beat()
    worker = stack.worker(pool=pool, concurrency=4)
    narrow = service.create_pool("narrow", max_concurrent=1)
    policies = {"task": f"{TASKS}.swallow", "timeout_ms": 1000, "max_attempts": 2}
    over = stack.directory / "over"
    pooled = routine("pooled", kwargs={"seconds": 120, "until": str(over)}, pool=narrow, **policies)
    alone = routine("alone", kwargs={"seconds": 120}, concurrency_policy="FORBID", **policies)
    first, held = ring(pooled, pool=narrow), ring(alone)
    marked = RoutineRun.objects.filter(status=RunStatus.RUNNING, reason=Reason.OVERDUE)
    stack.wait_until(lambda: marked.count() == 2, 15, "they were not marked")
    worker.wait_for_log("routine-run-overdue")
    waiting = service.run_now(pooled)
    assert (first.retries(), held.retries()) == ([], [])
    over.touch()
    assert ended(stack, first, 25).reason == Reason.TIMEOUT
    assert stack.bodies("pooled")[0].how == "returned"
    stack.wait_until(lambda: len(stack.bodies("pooled")) > 1, 15, "nothing came after it")
    assert stack.bodies("pooled")[1].started >= (stack.bodies("pooled")[0].ended or 0)
    assert RoutineRun.objects.filter(id=waiting.pk).exists()
    service.abandon_run(held.id, reason="we know better")
    assert (ended(stack, held, 5).status, held.row.reason) == (RunStatus.FAILED, Reason.ABANDONED)
    # Its body lives and its worker too: neither may keep the routine's lease from the next attempt.
    stack.wait_until(lambda: len(stack.bodies("alone")) > 1, 15, "the next attempt did not start")


def test_a_body_that_cannot_be_stopped_in_solo_blocks_its_retry(make_stack: StackFactory) -> None:
    """There it is the worker's only body, in its main thread: it is marked and told by the watchdog's."""
    stack = make_stack(settings={"ROUTINES": {"STOP_GRACE_SECONDS": 1.0}})
    worker = stack.worker(pool="solo")
    over = stack.directory / "over"
    until = {"seconds": 120, "until": str(over)}
    run = ring(routine("only", task=f"{TASKS}.swallow", kwargs=until, timeout_ms=1000, max_attempts=2))
    worker.wait_for_log("routine-run-overdue")
    assert (run.refresh(), run.row.reason, run.retries()) == (RunStatus.RUNNING, Reason.OVERDUE, [])
    over.touch()
    assert ended(stack, run, 25).reason == Reason.TIMEOUT
    assert (stack.bodies("only")[0].how, len(run.retries())) == ("returned", 1)


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
    first = clock.now().replace(microsecond=0) + timedelta(seconds=5)  # it is made before that
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
