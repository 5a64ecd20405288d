"""Resetting routines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, Source
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]


def test_a_reset_brings_a_parked_routine_back(make: Make, time: Time) -> None:
    """Failures are forgotten, the time it was parked is one SKIPPED row, and the plan starts from now."""
    routine = make(every="1h")
    Routine.objects.update(status=RoutineStatus.PARKED, pause_reason="3 failures")
    RoutineState.objects.update(failure_count=3, next_run_at=None, next_source=Source.PARKED)
    time.pass_by(hours=2, minutes=30)
    service.reset_routine(routine.pk, actor="ann")
    stored, state = Routine.objects.get(), RoutineState.objects.get()
    assert (stored.status, stored.pause_reason, state.failure_count) == (RoutineStatus.ACTIVE, "", 0)
    assert state.next_slot == state.next_run_at
    assert state.next_slot is not None
    assert state.next_slot > time.now
    assert RoutineRun.objects.get().reason == Reason.PARKED


def test_a_reset_of_a_failing_routine_takes_its_back_off_away(make: Make) -> None:
    """An interval that failures had stretched is planned at its own pace again."""
    routine = make(every="1h")
    RoutineState.objects.update(failure_count=4, next_slot=MONDAY + timedelta(hours=16))
    service.reset_routine(routine)
    assert RoutineState.objects.get().next_slot == MONDAY + timedelta(hours=1)


@pytest.mark.parametrize("status", ["ACTIVE", "PAUSED", "ARCHIVED"])
def test_a_reset_of_what_is_not_parked_says_so(make: Make, status: str) -> None:
    """Nothing is written: there is nothing to forget."""
    routine = make(every="1h")
    Routine.objects.update(status=status)
    before = RoutineState.objects.values().get()
    with pytest.raises(service.NotAllowed, match="it is not parked"):
        service.reset_routine(routine)
    assert RoutineState.objects.values().get() == before
    assert [change.kind for change in ScheduleChange.objects.all()] == ["created"]
