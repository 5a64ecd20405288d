"""QUEUE with a real beat and a real worker: of the slots that come meanwhile exactly one follows, the newest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.stack import Stack
from tests.processes import stretched

BODY_SECONDS = 6


def test_of_the_slots_that_come_during_a_slow_body_the_newest_follows(stack: Stack, fault: Fault) -> None:
    """It starts as soon as the other has ended; those between are in the ledger, with the reason."""
    stack.worker(concurrency=2)
    stack.beat()
    start = datetime.now(UTC) + timedelta(seconds=2)
    service.create_routine(
        "in turn",
        task=SLEEPY,
        args=[BODY_SECONDS],
        every="1s",
        concurrency_policy="QUEUE",
        start_at=start,
        end_at=start + timedelta(seconds=3),
    )
    done = RoutineRun.objects.filter(status="SUCCESS").order_by("started_at")
    stack.wait_until(lambda: done.count() == 2, 60, "the second one did not follow")

    first, second = done
    assert (first.scheduled_for, second.scheduled_for) == (start, start + timedelta(seconds=3))
    between = RoutineRun.objects.exclude(status="SUCCESS")
    assert list(between.values_list("status", "reason")) == [("SKIPPED", "superseded")] * 2
    assert first.completed_at is not None
    assert second.started_at is not None
    assert 0 <= (second.started_at - first.completed_at).total_seconds() <= stretched(2)
    fault.balances(stack, settled=True)
