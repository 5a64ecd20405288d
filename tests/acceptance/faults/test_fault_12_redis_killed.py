"""Fault 12: Redis killed for 10 s, without persistence: everything PENDING arrives; no body runs twice."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, SLEEPY, Fault
from tests.acceptance.stack import Stack

AWAY_SECONDS = 10
LOST_SECONDS = 45  # a message is first missed this long after it was published


@pytest.mark.slow
def test_fault_12_what_was_in_a_killed_redis_arrives_all_the_same(stack: Stack, fault: Fault) -> None:
    """Queued messages and leases are gone; the rows bring them back, once each."""
    stack.worker(concurrency=1)
    stack.beat()
    for number in range(3):
        service.create_routine(f"note {number}", task=NOTE, every="2s")
    service.create_routine("alone", task=SLEEPY, args=[1.5], every="2s", concurrency_policy="FORBID")
    # A burst that one slow child cannot take: what it leaves is in Redis when that dies.
    for number in range(8):
        service.run_now(service.create_routine(f"burst {number}", task=SLEEPY, args=[0.8]))
    stack.wait_until(lambda: RoutineRun.objects.filter(status="SUCCESS").count() >= 3, 30, "nothing runs")

    stack.redis.kill()
    time.sleep(AWAY_SECONDS)  # the fault's own length
    stack.redis.start()
    back = datetime.now(UTC)

    owed = RoutineRun.objects.filter(scheduled_for__lte=back, status__in=["PENDING", "RUNNING"])
    stack.wait_until(lambda: not owed.exists(), LOST_SECONDS + 60, f"still waiting: {list(owed.values())[:3]}")

    took = (datetime.now(UTC) - back).total_seconds()
    fault.recovered(took, 45, "12: everything that a killed Redis held has run")
    assert not RoutineRun.objects.filter(status="FAILED").exists()
    fault.balances(stack, until=back)


def test_fault_12_a_pool_does_not_stand_still_after_redis_was_killed(stack: Stack, fault: Fault) -> None:
    """The runs that hold its places have lost their messages: a beat that sees another server looks at once."""
    service.create_pool("narrow", max_concurrent=2)
    routine = service.create_routine("queued", task=NOTE, pool="narrow")
    stack.beat()
    runs = [service.run_now(routine, idempotency_key=str(number)).pk for number in range(5)]
    sent = RoutineRun.objects.filter(dispatched_at__isnull=False)
    stack.wait_until(lambda: sent.count() == 2, 20, "nothing is published")

    stack.redis.kill()
    stack.redis.start()
    back = time.monotonic()
    stack.worker()

    done = RoutineRun.objects.filter(pk__in=runs, status="SUCCESS")
    stack.wait_until(lambda: done.count() == 5, LOST_SECONDS + 30, "the pool stands still")
    fault.recovered(time.monotonic() - back, 15, "12: a pool whose messages were in a killed Redis is empty")
