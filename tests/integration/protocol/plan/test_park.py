"""Parking what cannot be read: once, with the reason of the first who met it, and never what can be read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DataError, OperationalError, connection
from django.db.models import F

from routines_app import service
from routines_app.core.errors import StaleVersion
from routines_app.models import ChangeKind, Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.plan import park as module
from routines_app.protocol.plan.park import park, park_unreadable
from tests.integration.conftest import NOTE
from tests.integration.hearing import hearing, names_of
from tests.integration.holding import held, needs_postgresql, needs_row_locks

pytestmark = pytest.mark.usefixtures("ledger")

FIRST, SECOND = DataError("timestamp too large"), DataError("the same, said by another beat")


def make(*, broken: bool = False) -> Routine:
    """A routine that is due; with a time that nobody can read, if so asked."""
    routine = service.create_routine("nightly", task=NOTE, every="1m")
    RoutineState.objects.update(next_run_at=F("next_run_at") - timedelta(minutes=2))
    if broken:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE routines_routine SET end_at = 'infinity'")
    return routine


def fail_by(routine: Routine, error: Exception, *, due: bool = False) -> bool:
    """What a beat does that has failed by this routine."""
    with bounded():
        return park_unreadable(routine.pk, error, clock.now(), due=due)


def stored() -> Routine:
    return Routine.objects.select_related("state").get()


def parkings() -> int:
    return ScheduleChange.objects.filter(kind=ChangeKind.PARKED).count()


def test_two_beats_that_fail_by_one_routine_park_it_once() -> None:
    """The second finds it parked: one change, one signal, and the reason of the first."""
    routine = make()
    with hearing("routine_parked") as heard:
        assert fail_by(routine, FIRST, due=True)
        fail_by(routine, SECOND, due=True)
    assert (stored().status, parkings(), names_of(heard)) == ("PARKED", 1, ["routine_parked"])
    assert str(FIRST) in stored().pause_reason


@needs_postgresql
def test_what_a_person_has_mended_meanwhile_is_not_parked_again() -> None:
    """The beat comes with an error from before."""
    routine = make(broken=True)
    assert fail_by(routine, FIRST)
    service.reset_routine("nightly")
    assert not fail_by(routine, SECOND, due=True)
    assert (stored().status, parkings()) == ("ACTIVE", 1)


@needs_postgresql
def test_a_moment_that_nobody_can_read_becomes_one_that_is_over() -> None:
    """A ONCE routine must have one. Reset, it has ended: nobody knows any more when it was to fire."""
    routine = service.create_routine("nightly", task=NOTE, at=clock.now() + timedelta(hours=1))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE routines_routine SET once_at = 'infinity'")
    assert fail_by(routine, FIRST)
    found = stored()
    assert (found.status, "once_at" in found.pause_reason) == ("PARKED", True)
    assert found.once_at is not None
    assert found.once_at <= clock.now()
    service.reset_routine("nightly")
    assert (stored().status, stored().state.next_source) == ("ACTIVE", "ended")


@pytest.mark.parametrize("error", [MemoryError(), ValueError("a bug"), OperationalError("lock timeout")])
def test_a_routine_that_can_be_read_is_not_parked_for_an_error_that_passes(error: Exception) -> None:
    assert not fail_by(make(), error)
    assert (stored().status, parkings()) == ("ACTIVE", 0)


def test_a_routine_that_cannot_be_read_for_another_reason_than_a_time_is_parked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    routine = make()
    monkeypatch.setattr(module, "_can_be_read", lambda routine_id: False)
    assert fail_by(routine, ValueError("an adapter's own"))
    assert stored().status == "PARKED"


@pytest.mark.parametrize("status", ["PARKED", "ARCHIVED"])
def test_one_that_is_out_already_stays_as_it_is_and_sleeps(status: str) -> None:
    """Plain SQL has left it due; nobody is told a second time."""
    routine = make()
    Routine.objects.update(status=status, pause_reason="by hand")
    with bounded():
        assert not park(routine, "another reason", clock.now())
    assert (stored().status, stored().pause_reason, parkings()) == (status, "by hand", 0)
    assert (stored().state.next_run_at, stored().state.next_source) == (None, status.lower())


@needs_postgresql
@pytest.mark.parametrize("status", ["ACTIVE", "ARCHIVED"])
def test_a_form_that_was_filled_in_before_does_not_overwrite_it(status: str) -> None:
    """Also where a value was only taken away."""
    make(broken=True)
    Routine.objects.update(status=status)
    version = Routine.objects.values_list("version", flat=True).get()
    assert fail_by(Routine.objects.only("pk").get(), FIRST)
    assert stored().version > version
    if status == "ACTIVE":
        with pytest.raises(StaleVersion):
            service.update_routine("nightly", version=version, every="2m")


@needs_row_locks
def test_a_routine_whose_state_somebody_holds_is_left_alone() -> None:
    """It is being edited, or another beat is parking it: nothing is waited for, or written around the lock."""
    routine = make()
    with held("routinestate", "routine_id", [routine.pk]):
        assert not fail_by(routine, FIRST, due=True)
    assert stored().status == "ACTIVE"
