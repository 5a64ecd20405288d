"""Fault 38: Redis at its memory limit: one change of state is told, and all is normal within 5 s of room."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.stack import Stack

TIMED_OUT = re.compile("time-?out|timed out|has waited for it for long", re.IGNORECASE)


def told_once(log: str) -> None:
    """It refuses, and is back; a busy machine's time-out in between is a change of its own, and so is the end of it."""
    away = [line for line in log.splitlines() if "is away" in line]
    assert [line for line in away if not TIMED_OUT.search(line)] == []
    for change in ("the broker refuses", "the broker is back"):
        assert 1 <= log.count(change) <= 1 + len(away)


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
def test_fault_38_a_full_redis_is_one_change_of_state(policy: str, make_stack: StackFactory, fault: Fault) -> None:
    """A broker that refuses everybody is no fault of a routine's: nothing is set aside. Workers are told to go on."""
    stack = make_stack(settings={"CELERY_BROKER_CHANNEL_ERROR_RETRY": True})
    for number in range(5):
        service.create_routine(f"note {number}", task=NOTE, every="1s")
    service.create_routine("alone", task=NOTE, every="1s", concurrency_policy="FORBID")
    worker, beat = stack.worker(), stack.beat()
    done = RoutineRun.objects.filter(status="SUCCESS")
    stack.wait_until(lambda: done.count() >= 10, 30, "nothing runs")

    redis = stack.redis.client()
    redis.config_set("maxmemory-policy", policy)
    redis.config_set("maxmemory", 500_000)  # less than an empty one needs
    waiting = RoutineRun.objects.filter(status="PENDING", dispatched_at=None)
    stack.wait_until(lambda: waiting.count() >= 15, 30, "Redis takes messages all the same")
    redis.config_set("maxmemory", 0)
    room = datetime.now(UTC)

    unsent = waiting.filter(scheduled_for__lte=room)
    stack.wait_until(lambda: not unsent.exists(), 30, "what waited is not published")
    fault.recovered((datetime.now(UTC) - room).total_seconds(), 5, f"38: normal after Redis has room again ({policy})")
    assert "cannot be published" not in beat.log()
    told_once(beat.log())

    assert worker.running
    owed = RoutineRun.objects.filter(scheduled_for__lte=room, status__in=["PENDING", "RUNNING"])
    stack.wait_until(lambda: not owed.exists(), 30, "what waited does not run")
    assert not RoutineRun.objects.filter(status="FAILED").exists()
    fault.balances(stack, until=room)


def test_fault_38_messages_that_redis_evicts_are_published_again(stack: Stack, fault: Fault) -> None:
    """With a policy that evicts anything the queue itself may go: the count of evictions tells."""
    redis = stack.redis.client()
    routine = service.create_routine("note", task=NOTE)
    stack.beat()
    runs = [service.run_now(routine).pk for _ in range(20)]
    stack.wait_until(lambda: not RoutineRun.objects.filter(dispatched_at=None).exists(), 20, "nothing is published")

    redis.config_set("maxmemory-policy", "allkeys-lru")
    redis.config_set("maxmemory", 500_000)
    stack.wait_until(lambda: redis.dbsize() == 0, 20, "nothing is evicted")
    redis.config_set("maxmemory", 0)
    began = time.monotonic()

    stack.worker()
    done = RoutineRun.objects.filter(pk__in=runs, status="SUCCESS")
    stack.wait_until(lambda: done.count() == 20, 40, "they are lost")
    fault.recovered(time.monotonic() - began, 15, "38: all that was evicted has run")
