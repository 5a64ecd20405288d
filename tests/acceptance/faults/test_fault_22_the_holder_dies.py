"""Fault 22: the holder of a FORBID routine dies: skips are recorded; free as soon as it is found dead."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from routines_app.service import Because
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import IMPATIENT, IMPATIENT_RECOVERY_SECONDS, SLEEPY, Fault


@pytest.mark.slow
def test_fault_22_a_forbid_routine_is_free_again_after_its_holder_died(make_stack: StackFactory, fault: Fault) -> None:
    """Every slot until then is SKIPPED with the reason; then the dead run is tried again."""
    stack = make_stack(settings={"ROUTINES": IMPATIENT})
    stack.beat()
    worker = stack.worker()
    service.create_routine("alone", task=SLEEPY, args=[1], every="2s", concurrency_policy="FORBID", retry_delay_ms=0)
    stack.wait_until(lambda: stack.bodies("alone"), 30, "it did not start")
    worker.kill9()
    killed_at, died = time.monotonic(), datetime.now(UTC)
    known = len(stack.bodies("alone"))

    stack.worker()
    stack.wait_until(lambda: len(stack.bodies("alone")) > known, 60, "it was never free again")

    took = stack.bodies("alone")[known].started - killed_at
    fault.recovered(took, IMPATIENT_RECOVERY_SECONDS, "22: a FORBID routine is free again after its holder died")
    skipped = RoutineRun.objects.filter(scheduled_for__gt=died, status="SKIPPED", reason="overlap")
    assert skipped.count() >= took // 2 - 1
    dead = RoutineRun.objects.get(status="FAILED", reason="orphaned")
    story = service.why("alone", dead.scheduled_for)
    assert (Because.FAILED in story.codes, Because.RETRIED in story.codes) == (True, True), str(story)
    assert "nobody heard of its worker any more" in str(story)
    missed = service.why("alone", skipped.earliest("pk").scheduled_for)
    assert f"run {dead.pk} of the same routine was active" in str(missed), str(missed)
    fault.balances(stack, until=died)
