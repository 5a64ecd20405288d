"""Fault 18: the same message 100 times: one start."""

from __future__ import annotations

from uuid import UUID

import pytest

from routines_app import service
from routines_app.coordination.broker import broker
from routines_app.models import RoutineRun
from routines_app.protocol.record.messages import messages_of
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.faults.test_fault_03_beat_killed_before_stamp import low_priority
from tests.acceptance.stack import Stack


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_fault_18_a_hundred_copies_of_a_message_start_one_body(stack: Stack, fault: Fault, policy: str) -> None:
    """Every copy meets a row that is not PENDING any more, whoever takes it."""
    service.create_routine("once", task=NOTE, concurrency_policy=policy)
    run = service.run_now("once")
    broker().publish(messages_of(RoutineRun.objects.filter(id=run.pk)) * 100)

    stack.worker(concurrency=2)
    stack.wait_until(lambda: low_priority(stack) == 0, 30, "the copies were not taken")
    stack.wait_until(lambda: RoutineRun.objects.filter(status="SUCCESS").exists(), 15, "the run did not end")

    ended = RoutineRun.objects.get()
    assert ended.dispatched_at is not None
    assert ended.started_at is not None
    took = max(0.0, (ended.started_at - ended.dispatched_at).total_seconds())
    fault.recovered(took, 30, f"18: 100 copies of a message, one start ({policy})")
    assert [UUID(body.run or "") for body in stack.bodies()] == [run.pk]
    fault.balances(stack, settled=True)
