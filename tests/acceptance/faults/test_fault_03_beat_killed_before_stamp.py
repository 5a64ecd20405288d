"""Fault 3: `kill -9` a beat after it published, before the stamp: the second message does nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes
from tests.acceptance.stack import Stack


def test_fault_03_a_message_that_was_sent_twice_starts_one_body(stack: Stack, fault: Fault) -> None:
    """Both messages wait in the broker before any worker is there to take one."""
    doomed = stack.beat(ROUTINES_CRASH_AT="before-stamp:SIGKILL")
    due = datetime.now(UTC) + timedelta(seconds=4)  # when all of them are there, on a busy machine too
    for number in range(5):
        service.create_routine(f"once {number}", task=NOTE, every="1h", start_at=due)
    stack.wait_until(lambda: not doomed.running, 40, "the doomed beat never published")
    (crash,) = crashes(stack)
    twice = crash["keys"]
    stack.beat()
    stack.wait_until(
        lambda: RoutineRun.objects.exclude(dispatched_at=None).count() == 5, 30, "the outbox was not sent again"
    )
    assert stack.redis.client().llen("celery") + low_priority(stack) == 5 + len(twice)

    stack.worker()
    stack.wait_until(lambda: RoutineRun.objects.filter(status="SUCCESS").count() == 5, 30, "the runs did not run")
    stack.wait_until(lambda: low_priority(stack) == 0, 10, "the second messages were not taken")

    last = max(run.dispatched_at for run in RoutineRun.objects.filter(id__in=twice) if run.dispatched_at)
    fault.recovered(last.timestamp() - crash["wall"], 20, "3: sent again after a crash before the stamp")
    assert len(stack.bodies()) == 5
    fault.balances(stack, settled=True)


def low_priority(stack: Stack) -> int:
    """Messages of medium priority wait in a list of their own."""
    client = stack.redis.client()
    return sum(client.llen(key) for key in client.keys("celery\x06*"))
