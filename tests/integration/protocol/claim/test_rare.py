"""Schedules that were changed behind the service's back, to something else or to nonsense."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.planning import fingerprint_of

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


NONSENSE = [{"cron": "every now and then"}, {"timezone": "Mars/Olympus"}]


def paused_and_corrupt(nonsense: dict[str, str], *, stamped: bool) -> datetime:
    """A paused routine that owes a slot and cannot be computed; `stamped`: its plan claims to be of this schedule."""
    service.create_routine("broken", task=TASK, cron="* * * * *")
    planned = make_due("broken").next_slot
    assert planned is not None
    Routine.objects.update(**nonsense)
    service.pause_routine("broken")
    if stamped:
        RoutineState.objects.update(fingerprint=fingerprint_of(Routine.objects.get()))
    return planned


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_corrupt_routine_that_was_paused_is_mended_by_an_edit(nonsense: dict[str, str], *, stamped: bool) -> None:
    """The edit writes the one planned slot as skipped, and the routine can be resumed."""
    planned = paused_and_corrupt(nonsense, stamped=stamped)

    service.update_routine("broken", cron="*/5 * * * *", timezone="UTC")
    service.resume_routine("broken")

    assert Routine.objects.get().status == "ACTIVE"
    assert RoutineState.objects.get().next_run_at > clock.now()
    run = RoutineRun.objects.get()
    assert (run.scheduled_for, run.status, run.reason) == (planned, "SKIPPED", "paused")


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_corrupt_routine_that_was_paused_can_be_archived_and_deleted(
    nonsense: dict[str, str], *, stamped: bool
) -> None:
    """What it owed is in the ledger until it goes with the routine."""
    planned = paused_and_corrupt(nonsense, stamped=stamped)

    service.archive_routine("broken")

    assert [run.scheduled_for for run in RoutineRun.objects.all()] == [planned]
    service.delete_routine("broken")
    assert not Routine.objects.exists()


@pytest.mark.parametrize("release", ["SKIP", "LAST", "ALL"])
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_corrupt_routine_is_not_resumed_until_it_is_mended(nonsense: dict[str, str], release: str) -> None:
    """One error that names the field and says what to do; the pause goes on as it was."""
    paused_and_corrupt(nonsense, stamped=False)
    (field,) = nonsense

    with pytest.raises(service.NotAllowed, match=f"{field}.*edit the schedule, then resume it"):
        service.resume_routine("broken", release=release)

    assert Routine.objects.get().status == "PAUSED"
    assert not RoutineRun.objects.exists()


def test_a_pause_does_not_hide_that_the_schedule_was_changed() -> None:
    """The plan still is that of the old schedule, so what it owes is not counted by the new one."""
    service.create_routine("moved", task=TASK, cron="0 0 1 1 *")
    planned = make_due("moved").next_slot
    Routine.objects.update(cron="* * * * * *")
    service.pause_routine("moved")

    assert RoutineState.objects.get().fingerprint != fingerprint_of(Routine.objects.get())
    service.archive_routine("moved")
    assert [(run.scheduled_for, run.occurrences) for run in RoutineRun.objects.all()] == [(planned, 1)]
