"""The audit of schedules that a hint or a clamp ends early, and of pauses that have just ended: neither is a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.integration.conftest import Hours
from tests.integration.verbs.test_hints_account import assert_balances, at, rows

TENS = {"cron": "*/10 * * * *"}
TWO_HOURS_MS = 7_200_000


def clamp(_: Hours) -> None:
    service.update_routine("report", min_interval_ms=TWO_HOURS_MS)


def resume_under_a_slow_hint(hours: Hours) -> None:
    service.propose_factor(12, routine="report", ttl="5h")
    service.pause_routine("report")
    hours.pass_by(minutes=1)
    service.resume_routine("report")


END_IT = pytest.mark.parametrize("end_it", [clamp, resume_under_a_slow_hint])


@END_IT
def test_what_a_change_left_unplanned_is_not_missed_and_has_its_row_after_the_next(
    hours: Hours, end_it: Callable[[Hours], Any]
) -> None:
    """Nobody wrote it off, as the change might have been taken back."""
    hours.make(**TENS, end_at=at(hours, 60))
    hours.pass_by(minutes=11)
    end_it(hours)
    assert RoutineState.objects.get().next_source == Source.ENDED
    hours.pass_by(hours=2)
    assert [minute for minute, _, _ in rows(hours)] == [10]
    assert_balances(hours)

    service.archive_routine("report")
    assert rows(hours)[1:] == [(20, Reason.SUPERSEDED, 5)]
    assert_balances(hours)


@END_IT
def test_what_was_before_such_a_change_is_still_asked_for(hours: Hours, end_it: Callable[[Hours], Any]) -> None:
    hours.make(**TENS, end_at=at(hours, 60))
    hours.pass_by(minutes=31)
    end_it(hours)
    hours.pass_by(hours=2)
    RoutineRun.objects.get(scheduled_for=at(hours, 20)).delete()
    assert len(hours.found()) == 1


def test_an_end_that_nothing_explains_is_a_loss(hours: Hours) -> None:
    """Neither a clamp nor a hint: whoever left nothing to plan there has lost slots."""
    hours.make(**TENS, end_at=at(hours, 60))
    hours.pass_by(minutes=11)
    service.pause_routine("report")
    service.resume_routine("report")
    RoutineState.objects.update(next_slot=None, next_run_at=None, slot_source="", next_source=Source.ENDED)
    hours.pass_by(hours=2)
    assert len(hours.found()) == 5


@pytest.mark.parametrize("as_batch", [False, True])
def test_a_resume_that_comes_long_after_the_end_of_its_pause_loses_nothing(hours: Hours, as_batch: bool) -> None:
    """With the hint nothing was left to plan after the pause; the slots until the resume are gone past."""
    hours.make(**TENS, end_at=at(hours, 60))
    hours.pass_by(minutes=11)
    service.propose_factor(12, routine="report", ttl="5h")
    until = at(hours, 35)
    if as_batch:
        service.pause_batch("night", routines=Routine.objects.all(), until=until)
    else:
        service.pause_routine("report", until=until)
    hours.pass_by(hours=2, beat=False)
    service.resume_pause_batch("night") if as_batch else service.resume_routine("report")
    assert rows(hours)[1:] == [(20, Reason.PAUSED, 2), (40, Reason.SUPERSEDED, 3)]
    assert_balances(hours)


@pytest.mark.parametrize("schedule", [TENS, {"every": "10m"}])
def test_slots_that_a_resume_has_just_released_may_still_be_unclaimed(hours: Hours, schedule: dict[str, str]) -> None:
    """They became due with the resume. A minute later a beat should have come."""
    hours.make(**schedule)
    service.pause_routine("report")
    hours.pass_by(hours=2)
    service.resume_routine("report", release="ALL")
    hours.pass_by(seconds=20, beat=False)
    assert hours.found() == []
    hours.pass_by(seconds=60, beat=False)
    assert hours.found() != []
