"""Runs for slots of the past."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunTrigger
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]


def test_a_backfill_makes_a_run_for_each_slot(make: Make, time: Time) -> None:
    """Both ends count, and the schedule does not move."""
    routine = make(cron="0 * * * *")
    ten = MONDAY.replace(second=0)
    runs = service.backfill(routine, ten - timedelta(hours=3), ten, actor="ann")
    assert [run.scheduled_for for run in runs] == [ten - timedelta(hours=back) for back in (3, 2, 1, 0)]
    assert {(run.trigger, run.requested_by) for run in runs} == {(RunTrigger.BACKFILL, "ann")}
    assert RoutineState.objects.get().next_slot == ten + timedelta(hours=1)


def test_a_backfill_of_an_interval_reaches_back_along_its_grid(make: Make, time: Time) -> None:
    """The slots are those that the interval would have had."""
    routine = make(every="10m")
    runs = service.backfill(routine, MONDAY - timedelta(minutes=25), MONDAY)
    assert [MONDAY - run.scheduled_for for run in runs] == [timedelta(minutes=m) for m in (20, 10, 0)]


@pytest.mark.parametrize(
    ("values", "shift", "message"),
    [
        ({}, 0, "MANUAL"),
        ({"every": "1h", "concurrency_policy": "REPLACE"}, 0, "replace each other"),
        ({"every": "1s"}, 0, "at most 1000"),
        ({"every": "1h"}, 2, "in the past"),
        ({"every": "1h"}, -9, "not before start"),
    ],
)
def test_a_backfill_that_makes_no_sense_is_refused(make: Make, values: Any, shift: int, message: str) -> None:
    """Nothing is written."""
    routine = make(**values)
    with pytest.raises(service.RoutineError, match=message):
        service.backfill(routine, MONDAY - timedelta(days=4), MONDAY + timedelta(days=shift))
    assert not RoutineRun.objects.exists()
