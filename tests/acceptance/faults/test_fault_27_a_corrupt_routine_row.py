"""Fault 27: a corrupt routine row (bad cron written by SQL): parked with the reason; all others tick."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from django.db import connection

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.acceptance.stack import Stack


def test_fault_27_a_corrupt_routine_is_parked_and_the_others_tick_on(stack: Stack, fault: Fault) -> None:
    """The broken one says why it is parked; mended and reset through the service it fires again."""
    service.create_routine("sound", task=NOTE, every="1s")
    broken = service.create_routine("broken", task=NOTE, cron="0 0 1 1 *")
    stack.beat()
    ready_beats(stack, 1)
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE routines_routine SET cron = 'every now and then' WHERE id = %s", [broken.pk])
        cursor.execute(
            "UPDATE routines_routinestate SET next_run_at = %s WHERE routine_id = %s", [datetime.now(UTC), broken.pk]
        )

    stack.wait_until(lambda: Routine.objects.get(pk=broken.pk).status == "PARKED", 15, "the broken one still ticks")

    fault.recovered(time.monotonic() - began, 10, "27: a corrupt routine is parked")
    assert "cron" in Routine.objects.get(pk=broken.pk).pause_reason
    parked = datetime.now(UTC)
    ticked = RoutineRun.objects.filter(routine__name="sound", scheduled_for__gt=parked)
    stack.wait_until(lambda: ticked.count() >= 2, 10, "the sound routine stopped ticking")

    service.update_routine("broken", cron="*/2 * * * * *")
    service.reset_routine("broken")
    stack.wait_until(lambda: RoutineRun.objects.filter(routine=broken).count() >= 2, 15, "mended, and does not fire")
    assert RoutineState.objects.get(routine=broken).next_source == "baseline-cron"
