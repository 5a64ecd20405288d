"""Fault 13: FLUSHALL while exclusive runs are running: no overlap."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.stack import Stack

FLUSHES = 40


@pytest.mark.slow
def test_fault_13_schedules_of_exclusive_routines_survive_constant_flushing(stack: Stack, fault: Fault) -> None:
    """Leases and queued messages vanish all the time; the rows keep bodies apart and bring the messages back."""
    stack.worker(concurrency=4)
    stack.beat()
    for number, policy in enumerate(["FORBID", "REPLACE"] * 4):
        service.create_routine(
            f"r{number}", task=SLEEPY, args=[0.7], interval_ms=1000 + 90 * number, concurrency_policy=policy
        )
    stack.wait_until(lambda: len(stack.bodies()) >= 5, 30, "nothing runs")
    for _ in range(FLUSHES):
        stack.redis.flushall()
        time.sleep(0.2)

    flushed = datetime.now(UTC)
    running = RoutineRun.objects.filter(started_at__gt=flushed)
    routines = 8
    stack.wait_until(
        lambda: running.values("routine_id").distinct().count() == routines, 90, "not every routine runs again"
    )
    first = min(run.started_at for run in running if run.started_at)
    fault.recovered((first - flushed).total_seconds(), 60, f"13: exclusive work goes on after {FLUSHES} flushes")
    fault.balances(stack, until=flushed - timedelta(seconds=2))
