"""The core on the other stacks that are promised: fire, lose a beat and a worker by SIGKILL, recover, and balance.

Everything else in this folder runs on PostgreSQL and Redis.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db.models import Q

from routines_app import service
from routines_app.models import Routine, RoutineRun
from routines_app.verbs.audit import UNCLAIMED
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault, ready_beats
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack

FLAKY = "tests.acceptance.tasks.flaky"
ORPHAN_SECONDS = 6.0
IMPATIENT = {
    "ROUTINES": {
        "HEARTBEAT_SECONDS": 1.0,
        "LEASE_SECONDS": 4.0,
        "ORPHAN_SECONDS": ORPHAN_SECONDS,
        "RECONCILE_SECONDS": 1.0,
    }
}
LOST_SECONDS = "3"
SCHEDULES: dict[str, dict[str, Any]] = {
    "interval": {"task": NOTE, "every": "1s"},
    "cron": {"task": NOTE, "cron": "*/2 * * * * *"},
    "alone": {"task": SLEEPY, "args": [1.5], "every": "1s", "concurrency_policy": "FORBID"},
    "newest": {"task": SLEEPY, "args": [2.5], "every": "2s", "concurrency_policy": "REPLACE"},
    "in turn": {"task": SLEEPY, "args": [1.5], "every": "1s", "concurrency_policy": "QUEUE"},
    "pooled": {"task": SLEEPY, "args": [0.3], "every": "1s", "pool": "narrow"},
    "retried": {"task": FLAKY, "every": "3s", "retry_delay_ms": 500},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "broker"),
    [
        pytest.param("mariadb", "rabbitmq", marks=[pytest.mark.mariadb, pytest.mark.rabbitmq]),
        pytest.param("sqlite", "redis"),
    ],
)
def test_a_killed_beat_and_a_killed_worker_lose_and_double_nothing(
    make_stack: StackFactory, fault: Fault, database: str, broker: str
) -> None:
    """Every policy under two beats and two workers; one of each is killed, and the rest is enough."""
    stack = make_stack(database=database, broker=broker, settings=IMPATIENT)
    workers = [stack.start_worker(concurrency=3), stack.start_worker(concurrency=3)]
    doomed, _ = [stack.start_beat(ROUTINES_LOST_SECONDS=LOST_SECONDS) for _ in range(2)]
    ready_beats(stack, 2)
    service.create_pool("narrow", max_concurrent=1)
    for name, values in SCHEDULES.items():
        service.create_routine(name, **values)
    everything_runs(stack, "in the beginning")

    doomed.kill9()
    everything_runs(stack, "after a beat was killed")

    took = kill_the_worker_of_a_long_body(stack, workers)
    on = f"on {database} and {broker}"
    fault.recovered(took, ORPHAN_SECONDS + 8, f"8: a killed worker's exclusive run starts again, {on}")
    everything_runs(stack, "after a worker was killed")

    end_all(stack)
    for process in stack.processes:
        log = process.log()
        assert log.count("Traceback") == log.count("raised unexpected: RuntimeError('attempt 1 of 1"), log
    audit = service.audit("1h", now=service.now() + UNCLAIMED)
    assert audit.imbalances == []
    fault.balances(stack, settled=True)


def everything_runs(stack: Stack, when: str) -> None:
    """Each schedule fires a slot that is still to come, and that succeeds or makes room for the next one."""
    since = service.now()
    done = Q(status="SUCCESS") | Q(reason="replaced", started_at__isnull=False)
    fired = RoutineRun.objects.filter(done, scheduled_for__gt=since, routine__name__in=SCHEDULES).values("routine")
    stack.wait_until(lambda: fired.distinct().count() == len(SCHEDULES), 30, f"not everything runs {when}")


def kill_the_worker_of_a_long_body(stack: Stack, workers: list[Process]) -> float:
    """The seconds until the same routine's next attempt has begun on another worker; then it is cancelled."""
    long = service.create_routine("long", task=SLEEPY, args=[60], concurrency_policy="FORBID", retry_delay_ms=0)
    run = service.run_now(long)
    (body,) = stack.wait_until(lambda: stack.bodies("long"), 30, "the long body did not start")
    (owner,) = (worker for worker in workers if body.pid in {child.pid for child in worker.children()})
    owner.kill9()
    killed_at = time.monotonic()
    stack.wait_until(lambda: len(stack.bodies("long")) == 2, 60, "the long body did not start again")
    took = stack.bodies("long")[1].started - killed_at
    run.refresh_from_db()
    assert (run.status, run.reason) == ("FAILED", "orphaned")
    service.cancel_run(RoutineRun.objects.get(routine=long, attempt=2))
    cancelled = RoutineRun.objects.filter(routine=long, status="CANCELLED")
    stack.wait_until(cancelled.exists, 15, "the long body was not cancelled")
    return took


def end_all(stack: Stack) -> None:
    """The schedules end, and what is owed comes to its end."""
    for name in SCHEDULES:
        service.update_routine(name, end_at=service.now())
    active = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"])
    stack.wait_until(lambda: not active.exists(), 30, "what is owed does not end")
    assert not Routine.objects.exclude(status="ACTIVE").exists()
