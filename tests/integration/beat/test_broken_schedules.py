"""Schedules that were changed behind the service's back, to something else or to nonsense."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol import clock
from routines_app.protocol.claim import claim_due

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


def make_due(name: str) -> RoutineState:
    now = clock.now() - timedelta(seconds=1)
    RoutineState.objects.filter(routine__name=name).update(next_slot=now, next_run_at=now)
    return RoutineState.objects.get(routine__name=name)


@pytest.mark.parametrize("mend", ["update", "archive"])
def test_a_routine_with_a_corrupt_cron_can_be_mended_and_archived(mend: str) -> None:
    """The slots that its old schedule owed cannot be computed; the one that was planned is in the ledger."""
    service.create_routine("broken", task=TASK, cron="* * * * *")
    planned = make_due("broken").next_slot
    Routine.objects.update(cron="every now and then")
    claim_due(clock.now())
    assert Routine.objects.get().status == "PARKED"

    if mend == "update":
        service.update_routine("broken", cron="*/5 * * * *")
        service.reset_routine("broken")
    else:
        service.archive_routine("broken")

    assert Routine.objects.get().status == ("ACTIVE" if mend == "update" else "ARCHIVED")
    run = RoutineRun.objects.get()
    assert (run.scheduled_for, run.status, run.reason) == (planned, "SKIPPED", "parked")


def test_a_pause_that_ends_over_a_corrupt_cron_does_not_stop_the_others() -> None:
    """The corrupt one is parked; what is due beside it fires."""
    service.create_routine("broken", task=TASK, cron="* * * * *")
    service.pause_routine("broken", until=clock.now() + timedelta(hours=1))
    service.create_routine("sound", task=TASK, every="1m")
    make_due("sound")
    Routine.objects.filter(name="broken").update(cron="61 * * * *", paused_until=clock.now())
    RoutineState.objects.filter(routine__name="broken").update(next_run_at=clock.now())
    make_due("broken")

    claim_due(clock.now())

    assert Routine.objects.get(name="broken").status == "PARKED"
    assert [run.routine.name for run in RoutineRun.objects.filter(status="PENDING")] == ["sound"]


def test_a_slot_that_an_edit_by_sql_takes_away_is_in_the_ledger() -> None:
    """The beat that notices the change writes the planned slot as superseded, and the history says what is next."""
    service.create_routine("moved", task=TASK, cron="* * * * *")
    planned = make_due("moved").next_slot
    Routine.objects.update(cron="0 0 1 1 *")

    claim_due(clock.now())

    run = RoutineRun.objects.get()
    assert (run.scheduled_for, run.status, run.reason) == (planned, "SKIPPED", "superseded")
    change = ScheduleChange.objects.get(kind="replanned")
    assert change.next_slot == run.next_planned_for == RoutineState.objects.get().next_slot
