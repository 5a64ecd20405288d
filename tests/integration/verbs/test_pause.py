"""Pausing: what is held."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineState, ScheduleChange
from tests.integration.conftest import MONDAY
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)


def test_a_pause_without_an_end_is_nothing_to_look_at(make: Make) -> None:
    """No beat looks at it; the next slot is remembered for the resume."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine, reason="maintenance", actor="ann")
    state = RoutineState.objects.get()
    assert (routine.status, routine.pause_reason) == (RoutineStatus.PAUSED, "maintenance")
    assert (state.next_run_at, state.next_source) == (None, Source.PAUSED)
    assert state.next_slot == TEN + timedelta(hours=1)
    change = ScheduleChange.objects.first()
    assert change is not None
    assert (change.kind, change.actor, change.reason) == (ChangeKind.PAUSED, "ann", "maintenance")


def test_a_pause_with_an_end_is_looked_at_then(make: Make) -> None:
    """A beat ends it."""
    until = MONDAY + timedelta(hours=2)
    service.pause_routine(make(cron="0 * * * *"), until=until)
    assert RoutineState.objects.get().next_run_at == until


def test_a_pause_ends_in_the_future(make: Make) -> None:
    """An end that has passed is refused."""
    routine = make(every="1h")
    with pytest.raises(service.InvalidValue, match="in the future"):
        service.pause_routine(routine, until=MONDAY)
    assert Routine.objects.get().status == RoutineStatus.ACTIVE


def test_pausing_again_changes_the_end(make: Make) -> None:
    """The pause itself goes on."""
    routine = make(every="1h")
    service.pause_routine(routine, until=MONDAY + timedelta(hours=2))
    service.pause_routine(routine, until=MONDAY + timedelta(hours=3))
    assert RoutineState.objects.get().next_run_at == MONDAY + timedelta(hours=3)


def test_pending_runs_are_held_and_those_that_were_asked_for_are_not(make: Make) -> None:
    """What waits to be sent waits for the resume; what a person asked for still runs, and so do its retries."""
    routine = make(every="1h")
    held = waiting_run(routine, 1)
    asked, retry = (
        waiting_run(routine, 2 + n, requested_at=MONDAY, trigger=t) for n, t in enumerate(("manual", "retry"))
    )
    service.pause_routine(routine)
    held.refresh_from_db()
    assert (held.publish_after, held.admitted_at, held.reason) == (None, None, Reason.PAUSED)
    for run in (asked, retry):
        run.refresh_from_db()
        assert run.publish_after is not None
