"""Fault 21: REPLACE every second over a slow task: at most one body at a time; the newest wins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import SLEEPY, Fault
from tests.acceptance.stack import Stack


@pytest.mark.slow
def test_fault_21_a_schedule_that_replaces_itself_every_second(stack: Stack, fault: Fault) -> None:
    """Each slot asks the body before it to stop; when the schedule ends, the last one finishes."""
    stack.worker(concurrency=3)
    stack.beat()
    # It starts when everybody is there, and ends by itself.
    start = datetime.now(UTC) + timedelta(seconds=2)
    end = start + timedelta(seconds=12)
    service.create_routine(
        "newest", task=SLEEPY, args=[5], every="1s", concurrency_policy="REPLACE", start_at=start, end_at=end
    )
    done = RoutineRun.objects.filter(status="SUCCESS")
    stack.wait_until(done.exists, 60, "the last one did not finish")

    last = RoutineRun.objects.latest("scheduled_for")
    assert (last.status, last.scheduled_for) == ("SUCCESS", end)
    assert last.started_at is not None
    fault.recovered((last.started_at - end).total_seconds(), 10, "21: the newest has replaced all others")
    others = RoutineRun.objects.exclude(pk=last.pk)
    assert set(others.values_list("status", "reason")) == {("CANCELLED", "replaced")}
    fault.balances(stack, settled=True)
