"""Fault 2: `kill -9` a beat after its commit, before it publishes: published by another tick."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes
from tests.acceptance.stack import Stack


def test_fault_02_what_a_killed_beat_committed_is_published_by_another(stack: Stack, fault: Fault) -> None:
    """The rows are the outbox: any beat finds them there."""
    other = stack.beat()
    other.freeze()
    doomed = stack.beat(ROUTINES_CRASH_AT="before-publish:SIGKILL")
    due = datetime.now(UTC) + timedelta(seconds=4)  # when all of them are there, on a busy machine too
    for number in range(5):
        service.create_routine(f"tick {number}", task=NOTE, every="1h", start_at=due)
    stack.wait_until(lambda: not doomed.running, 40, "the doomed beat never published")
    (crash,) = crashes(stack)
    held = RoutineRun.objects.filter(id__in=crash["keys"])
    assert held.count() == len(crash["keys"]) > 0
    assert {run.dispatched_at for run in held} == {None}

    other.thaw()
    stack.wait_until(lambda: not held.filter(dispatched_at=None).exists(), 30, "nobody published the outbox")

    last = max(run.dispatched_at for run in held.all() if run.dispatched_at)
    fault.recovered(last.timestamp() - crash["wall"], 2, "2: published by another beat")
    assert set(held.values_list("publish_count", flat=True)) == {1}
    fault.balances(stack)
