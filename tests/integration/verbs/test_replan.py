"""Plans after changes by plain SQL: the time that nobody planned is accounted for, and the routine goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, RunStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.verbs.replan import replan_forgotten
from tests.integration.conftest import MONDAY, Hours, Time

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)


@pytest.mark.parametrize(
    ("status", "source", "reason"),
    [
        (RoutineStatus.PAUSED, Source.PAUSED, Reason.PAUSED),
        (RoutineStatus.PARKED, Source.PARKED, Reason.PARKED),
    ],
)
def test_a_routine_woken_by_plain_sql_goes_on(
    make: Make, time: Time, status: RoutineStatus, source: Source, reason: Reason
) -> None:
    """Its slots since then are skipped as those of a pause are, and it has a plan again."""
    routine = make(cron="0 * * * *")
    Routine.objects.update(status=status)
    RoutineState.objects.update(next_run_at=None, next_source=source)
    time.pass_by(hours=3)
    Routine.objects.update(status=RoutineStatus.ACTIVE)

    assert replan_forgotten() == (1, 0)

    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_run_at) == (TEN + timedelta(hours=4), TEN + timedelta(hours=4))
    skipped = RoutineRun.objects.get(routine=routine)
    assert (skipped.status, skipped.reason, skipped.occurrences) == (RunStatus.SKIPPED, reason, 3)
    assert replan_forgotten() == (0, 0)


def test_a_pause_still_holds_when_it_is_planned_anew(make: Make, time: Time) -> None:
    """Only the end of the pause says what becomes of its slots."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    time.pass_by(hours=3)
    service.replan_routine(routine)
    assert RoutineState.objects.get().next_slot == TEN + timedelta(hours=1)
    assert not RoutineRun.objects.exists()


def test_a_slot_that_was_due_before_an_edit_by_sql_has_its_row(hours: Hours) -> None:
    """It is superseded, as when a beat finds the edit; the history says what was found."""
    hours.make(cron="*/10 * * * *")
    hours.pass_by(minutes=11)
    hours.pass_by(minutes=10, beat=False)
    Routine.objects.update(cron="5 * * * *")
    service.replan_routine("report")
    hours.pass_by(minutes=90)
    runs = RoutineRun.objects.order_by("scheduled_for").values_list("scheduled_for", "status", "reason")
    began = hours.began.replace(second=0)
    assert [((slot - began) / timedelta(minutes=1), status, reason) for slot, status, reason in runs] == [
        (10, RunStatus.PENDING, ""),
        (20, RunStatus.SKIPPED, Reason.SUPERSEDED),
        (65, RunStatus.PENDING, ""),
    ]
    assert ScheduleChange.objects.get(kind=ChangeKind.REPLANNED).after["cron"] == "5 * * * *"
    assert hours.found() == []
