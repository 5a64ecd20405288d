"""The table that the demo ends with: it must notice a routine that did not run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.utils import timezone

from project.demo_report import MARGIN, Report
from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState

pytestmark = pytest.mark.django_db


def make_due(routine: Routine) -> None:
    RoutineState.objects.filter(routine=routine).update(next_run_at=timezone.now() + timedelta(seconds=1))


def later(report: Report) -> Report:
    """The report as if it had been made a while ago, and so had its promises."""
    a_while = MARGIN + timedelta(seconds=5)
    report.started -= a_while
    report.promises = {
        key: replace(promise, due=promise.due and promise.due - a_while) for key, promise in report.promises.items()
    }
    return report


@pytest.fixture
def routine() -> Routine:
    routine = service.create_routine("due", task="tests.acceptance.tasks.note", every="1h")
    make_due(routine)
    return routine


def test_a_due_routine_without_a_run_fails_the_demo(routine: Routine) -> None:
    """Its name stands in the verdict."""
    output = StringIO()

    assert later(Report()).show(output) is False
    assert "should have run and did not: due" in output.getvalue()


def test_a_due_routine_that_started_passes(routine: Routine) -> None:
    """Whatever became of the run, its body was started; the table shows its outcome."""
    report, now = later(Report()), timezone.now()
    RoutineRun.objects.create(
        routine=routine,
        task=routine.task,
        status=RunStatus.FAILED,
        reason="timeout",
        scheduled_for=now,
        eligible_at=now,
        started_at=now,
        completed_at=now,
        idempotency_key="s:1",
    )
    output = StringIO()

    assert report.show(output) is True
    assert "FAILED (timeout)" in output.getvalue()


def test_a_slot_too_close_to_the_end_is_not_expected(routine: Routine) -> None:
    """The worker that would run it is being stopped."""
    assert Report().show(StringIO()) is True


def test_a_paused_routine_is_not_expected(routine: Routine) -> None:
    """Nobody promised that it runs."""
    service.pause_routine(routine, reason="holidays")

    assert later(Report()).show(StringIO()) is True
