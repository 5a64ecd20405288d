"""Fault 28: daylight saving: gap, fold, 30-minute shifts, midnight shifts.

The rule itself has its golden tests in tests/unit/core/test_cron_daylight_saving.py. Here the same clock changes go
through the storage and the claim: what lands in the ledger is the rule's slot, once.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim import claim
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.stack import Stack

# expression, timezone, the day (UTC) before which the routine stands still, its slots of the next 26 hours
CLOCK_CHANGES = {
    "gap": ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T01:00"]),
    "fold": ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T00:30"]),
    "wildcard fold": (
        "0 * * * *",
        "America/New_York",
        "2026-11-01T03:30",
        [f"2026-11-01T{h:02}:00" for h in range(4, 24)],
    ),
    "half-hour gap": ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["2026-10-03T15:30"]),
    "midnight gap": ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", ["2026-04-23T22:00"]),
}


@pytest.mark.parametrize("name", CLOCK_CHANGES)
def test_fault_28_a_clock_change_puts_the_rules_slots_into_the_ledger(stack: Stack, fault: Fault, name: str) -> None:
    """One row per slot of the day, at the instant that the rule names."""
    expression, timezone, start, slots = CLOCK_CHANGES[name]
    began = datetime.fromisoformat(start).replace(tzinfo=UTC)
    expected = [datetime.fromisoformat(slot).replace(tzinfo=UTC) for slot in slots]
    routine = service.create_routine(name, task=NOTE, cron=expression, timezone=timezone)
    Routine.objects.update(created_at=began)
    RoutineState.objects.update(last_slot=began, next_slot=expected[0], next_run_at=expected[0])

    measured = datetime.now(UTC)
    moment, end = began, expected[-1] + timedelta(minutes=30)
    while moment <= end:
        claim.claim_due(moment)
        moment += timedelta(minutes=30)

    fault.recovered((datetime.now(UTC) - measured).total_seconds(), 30, f"28: claims through a {name}")
    runs = RoutineRun.objects.filter(routine=routine).order_by("scheduled_for")
    assert [run.scheduled_for for run in runs] == expected
    assert connection.vendor == "postgresql"
