"""`self.retry()` and `autoretry_for`: the task's own limits hold, and the ledger shows each attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from routines_app import signals
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from tests.integration.conftest import Execute
from tests.integration.execution import tasks
from tests.integration.execution.test_body import pending

HERE = tasks.__name__


def next_of(row: RoutineRun) -> RoutineRun | None:
    return RoutineRun.objects.filter(retry_of=row).first()


def to_the_end(run_it: Execute, row: RoutineRun) -> list[RoutineRun]:
    """All attempts of the chain, each executed as soon as it is there."""
    rows = []
    following: RoutineRun | None = row
    while following is not None:
        now = timezone.now()
        RoutineRun.objects.filter(id=following.id).update(eligible_at=now, admitted_at=now, dispatched_at=now)
        rows.append(run_it(following))
        following = next_of(rows[-1])
    return rows


@pytest.fixture
def exhausted() -> Any:
    """The runs whose chains were told to be exhausted."""
    found: list[RoutineRun] = []

    def note(run: RoutineRun, **_: Any) -> None:
        found.append(run)

    signals.routine_exhausted.connect(note, weak=False)
    yield found
    signals.routine_exhausted.disconnect(note)


@pytest.mark.parametrize("max_attempts", [1, 5])
@pytest.mark.parametrize("task", ["retrying", "auto_retrying"])
def test_a_task_follows_its_own_limit_whatever_the_routine_says(
    run_it: Execute, exhausted: list[RoutineRun], task: str, max_attempts: int
) -> None:
    """Celery's default is three retries; then its chain has ended, once, with what it raised."""
    rows = to_the_end(run_it, pending(task, max_attempts=max_attempts))
    assert [(row.status, row.own_retries, row.budget_used, row.attempt) for row in rows] == [
        (RunStatus.FAILED, number, 1, number + 1) for number in range(4)
    ]
    assert [run.pk for run in exhausted] == [rows[-1].pk]
    assert rows[-1].error.partition(":")[0] in ("KeyError", "ZeroDivisionError")


def test_a_retry_without_a_countdown_waits_as_long_as_the_task_says(run_it: Execute) -> None:
    row = run_it(pending("retrying"))
    retry = next_of(row)
    assert retry is not None
    usual = current_app.tasks[f"{HERE}.retrying"].default_retry_delay
    assert abs(retry.eligible_at - timezone.now() - timedelta(seconds=usual)) < timedelta(seconds=20)


def test_back_off_follows_the_tasks_own_retries(run_it: Execute) -> None:
    """Without jitter: 2 s, then 4 s, then 8 s."""
    row = run_it(pending("backing_off", own_retries=2, attempt=7))
    retry = next_of(row)
    assert retry is not None
    assert timedelta(seconds=5) < retry.eligible_at - timezone.now() < timedelta(seconds=9)
    assert (retry.own_retries, retry.attempt) == (3, 8)


def test_a_failure_that_the_task_does_not_retry_is_the_routines_business(run_it: Execute) -> None:
    """That is a new try of the whole task, which begins with no retries of its own."""
    rows = to_the_end(run_it, pending("mixed", max_attempts=2))
    assert [(row.error.partition(":")[0], row.own_retries, row.budget_used) for row in rows] == [
        ("KeyError", 0, 1),
        ("ValueError", 1, 1),
        ("KeyError", 0, 2),
        ("ValueError", 1, 2),
    ]


@pytest.mark.parametrize(("limit", "attempts"), [(0, 1), (1, 2)])
def test_a_limit_of_the_call_wins(run_it: Execute, limit: int, attempts: int) -> None:
    rows = to_the_end(run_it, pending("retrying_with", kwargs={"options": {"max_retries": limit, "countdown": 0}}))
    assert len(rows) == attempts
    assert rows[-1].error.startswith("MaxRetriesExceededError")


@pytest.mark.parametrize(
    ("options", "args", "kwargs"),
    [
        ({"args": [[{"countdown": 1}]]}, [[{"countdown": 1}]], {}),
        ({"kwargs": {"options": {"countdown": 9}}}, [], {"options": {"countdown": 9}}),
        ({"queue": "elsewhere", "countdown": 1}, None, None),
    ],
)
def test_new_arguments_are_kept_and_what_cannot_be_held_is_no_error(
    run_it: Execute, options: dict[str, Any], args: Any, kwargs: Any
) -> None:
    row = run_it(pending("retrying_with", kwargs={"options": options}))
    retry = next_of(row)
    assert retry is not None
    assert (retry.args, retry.kwargs, retry.own_retries) == (args, kwargs, 1)


@pytest.mark.parametrize("fails", [False, True])
def test_a_retry_that_is_not_thrown_holds(run_it: Execute, fails: bool) -> None:
    """The attempt goes on; whether it returns or fails, it is tried again."""
    row = run_it(pending("retrying_quietly", kwargs={"fails": fails}))
    assert row.status == RunStatus.FAILED
    assert row.error.startswith("ValueError" if fails else "Retry")
    retry = next_of(row)
    assert retry is not None
    assert retry.own_retries == 1


def test_arguments_that_do_not_fit_are_not_tried_again_by_autoretry(run_it: Execute) -> None:
    row = run_it(pending("auto_retrying", kwargs={"more": 1}))
    assert (row.status, row.reason, next_of(row)) == (RunStatus.FAILED, Reason.BAD_ARGUMENTS, None)


def test_an_interruption_does_not_count_the_tasks_own_retries(run_it: Execute) -> None:
    """Attempt 9, of which one cost budget: eight retries of the task's own, and no interruption so far."""
    row = run_it(pending("interrupted", attempt=9, own_retries=8))
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.INTERRUPTED)
    following = next_of(row)
    assert following is not None
    assert (following.own_retries, following.budget_used) == (8, 1)
