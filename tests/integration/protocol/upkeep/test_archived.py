"""Runs that wait for an archived routine: the beats end what the archive has left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service, signals
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.upkeep import archived, reconcile
from routines_app.protocol.upkeep.orphans import Observer
from tests.integration.conftest import MONDAY
from tests.integration.holding import held, needs_row_locks, row_locked
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


@pytest.fixture
def left(make: Make, monkeypatch: pytest.MonkeyPatch) -> Routine:
    """An archived routine of whose runs the archive has cancelled two, and three wait."""
    monkeypatch.setattr(archived, "CANCELLED_AT_ONCE", 2)
    routine = make(every="1h")
    running_run(routine, 0)
    for number in range(1, 6):
        waiting_run(routine, number)
    service.archive_routine(routine)
    assert waiting(routine) == 3
    return routine


def waiting(routine: Routine) -> int:
    return RoutineRun.objects.filter(routine=routine, status=RunStatus.PENDING).count()


def test_each_pass_of_the_upkeep_ends_some_more(left: Routine, make: Make) -> None:
    """Until none is left; what runs goes on, and so does what waits for others."""
    other = waiting_run(make("other", every="1h"), 9)
    assert [archived.cancel_archived(MONDAY) for _ in range(3)] == [2, 1, 0]
    ended = RoutineRun.objects.filter(routine=left).exclude(status=RunStatus.RUNNING)
    assert set(ended.values_list("status", "reason")) == {(RunStatus.CANCELLED, Reason.ARCHIVED)}
    other.refresh_from_db()
    assert other.status == RunStatus.PENDING


def test_it_is_a_part_of_each_pass(left: Routine, redis_url: str) -> None:
    """Nobody has to ask for it."""
    assert reconcile.reconcile_once(MONDAY, Observer(), 0.0).cancelled == 2
    assert waiting(left) == 1


def test_a_routine_that_was_woken_since_somebody_looked_keeps_its_runs(left: Routine) -> None:
    """Code that declares it again does so under the lock that we have waited for."""
    Routine.objects.filter(pk=left.pk).update(status="ACTIVE")
    assert archived.cancel_waiting(left.pk, MONDAY) == 0
    assert waiting(left) == 3


@pytest.mark.django_db(transaction=True)
def test_their_ends_are_told(left: Routine) -> None:
    """As those are that the archive has ended itself, with the row as it is then."""
    heard: list[tuple[str, str, str]] = []

    def hear(run: RoutineRun, routine: Routine, **_: object) -> None:
        heard.append((routine.name, run.status, run.reason))

    signals.run_cancelled.connect(hear)
    try:
        archived.cancel_archived(MONDAY)
    finally:
        signals.run_cancelled.disconnect(hear)
    assert heard == [(left.name, RunStatus.CANCELLED, Reason.ARCHIVED)] * 2


@needs_row_locks
@pytest.mark.django_db(transaction=True)
def test_what_somebody_holds_stops_no_other(left: Routine, make: Make) -> None:
    """A run that is held, or a state: the others end, of that routine and of those behind it."""
    behind, last = make("behind", every="1h"), make("last", every="1h")
    for number, routine in enumerate((behind, behind, behind, last, last, last), start=20):
        waiting_run(routine, number)
    Routine.objects.filter(pk__in=[behind.pk, last.pk]).update(status="ARCHIVED")
    held_run = RoutineRun.objects.filter(routine=left, status=RunStatus.PENDING).earliest("id")
    with row_locked(held_run.pk), held("routinestate", "routine_id", [behind.pk]):
        for _ in range(4):
            archived.cancel_archived(MONDAY)
        assert (waiting(left), waiting(behind), waiting(last)) == (1, 3, 0)
    for _ in range(3):
        archived.cancel_archived(MONDAY)
    assert (waiting(left), waiting(behind)) == (0, 0)
