"""Fault 15: the database killed for 30 s: beat and worker survive; no live run is orphaned; on time within 5 s."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault, ready_beats

AWAY_SECONDS = 30


@pytest.mark.slow
def test_fault_15_a_killed_database_orphans_nobody_and_is_missed_for_five_seconds(
    make_stack: StackFactory, fault: Fault
) -> None:
    """Runs that live through the outage are recorded by their own bodies; the beat logs the change once."""
    stack = make_stack(own_postgres=True)
    assert stack.postgres is not None
    worker = stack.worker(concurrency=4)
    beat = stack.beat()
    ready_beats(stack, 1)
    service.create_routine("tick", task=NOTE, every="1s", catch_up_policy="LAST", misfire_grace_ms=2000)
    lives = service.create_routine("lives", task=SLEEPY, args=[AWAY_SECONDS + 10])
    alone = service.create_routine("alone", task=SLEEPY, args=[AWAY_SECONDS + 10], concurrency_policy="FORBID")
    service.run_now(lives)
    service.run_now(alone)
    stack.wait_until(lambda: len(stack.bodies("lives") + stack.bodies("alone")) == 2, 30, "the long runs did not start")
    stack.wait_until(lambda: len(stack.bodies("tick")) >= 2, 30, "nothing ticks")

    stack.postgres.kill()
    time.sleep(AWAY_SECONDS)  # the fault's own length
    stack.postgres.start()
    back = datetime.now(UTC)

    fresh = RoutineRun.objects.filter(routine__name="tick", scheduled_for__gte=back, dispatched_at__isnull=False)
    stack.wait_until(lambda: fresh.count() >= 2, 30, "nothing ticks after the database's return")
    first = RoutineRun.objects.filter(routine__name="tick", dispatched_at__gte=back).earliest("dispatched_at")
    assert first.dispatched_at is not None
    fault.recovered((first.dispatched_at - back).total_seconds(), 5, "15: on time again after the database's return")
    long_runs = RoutineRun.objects.filter(routine__in=[lives, alone])
    stack.wait_until(lambda: not long_runs.filter(status="RUNNING").exists(), 40, "the long runs did not end")
    assert [(run.status, run.attempt) for run in long_runs] == [("SUCCESS", 1), ("SUCCESS", 1)]
    assert beat.running
    assert worker.running
    assert beat.log().count("the database is away") == 1
    fault.balances(stack, until=back)
