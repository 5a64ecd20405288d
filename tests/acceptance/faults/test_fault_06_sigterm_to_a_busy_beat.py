"""Fault 6: SIGTERM to a busy beat: clean exit within 2 s."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.stack import Stack


def test_fault_06_a_busy_beat_leaves_within_two_seconds_and_owes_nothing(stack: Stack, fault: Fault) -> None:
    """Terminated in the middle of the work it exits cleanly; the next beat goes on where it stopped."""
    for number in range(100):
        service.create_routine(f"tick {number}", task=NOTE, interval_ms=1000 + number)
    beat = stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.count() >= 200, 40, "the beat is not busy")

    began = time.monotonic()
    beat.terminate()
    assert beat.wait(10) == 0, beat.log()

    fault.recovered(time.monotonic() - began, 2, "6: SIGTERM to a busy beat, until it is gone")
    assert "Traceback" not in beat.log()
    gone = datetime.now(UTC)
    stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.filter(scheduled_for__gt=gone).count() >= 100, 20, "nobody goes on")
    fault.balances(stack, until=gone)
