"""Executing tasks: every shape of Celery task, every way to end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.utils import timezone
from django_celery_results.models import TaskResult

from routines_app import current_run
from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import watchdog as watchdogs
from routines_app.execution.board import Board
from routines_app.execution.place import Place
from routines_app.execution.watchdog import Watchdog, watchdog
from routines_app.models import RoutineRun, RunLog
from tests.acceptance.ringing import ring, routine
from tests.integration.conftest import Execute
from tests.integration.execution import tasks

HERE = "tests.integration.execution.tasks"
TASKS = "tests.acceptance.tasks"
DEEP = "[" * 950 + "]" * 950  # SQLite takes 1,000 levels
DIGITS = f"[{'9' * 5_000}]"


@pytest.fixture(autouse=True)
def nothing_seen() -> Iterator[None]:
    tasks.seen.clear()
    yield
    tasks.seen.clear()


def pending(
    task: str, *, module: str = HERE, name: str = "", attempt: int = 1, own_retries: int = 0, **policies: Any
) -> RoutineRun:
    made = routine(name or f"of {task}", task=f"{module}.{task}", **policies)
    return ring(made, send=False, attempt=attempt, own_retries=own_retries).row


def test_a_bound_task_sees_its_request(run_it: Execute) -> None:
    """Its retries are those that it asked for itself, however many attempts there were."""
    row = run_it(pending("bound", args=[1], kwargs={"a": 2}, attempt=3, own_retries=2))
    assert row.result == {
        "id": str(row.id),
        "args": [1],
        "kwargs": {"a": 2},
        "retries": 2,
        "hostname": None,
        "called_directly": False,
    }


def test_class_based_tasks_get_their_call_and_handlers(run_it: Execute) -> None:
    """A handler that fails changes nothing."""
    row = run_it(pending("hooked"))
    assert row.status == RunStatus.SUCCESS
    assert tasks.seen == ["before_start", "call", ("on_success", str(row.id)), ("after_return", "SUCCESS")]


def test_a_task_that_was_registered_as_a_class_runs(run_it: Execute) -> None:
    row = run_it(pending("registered", args=["you"]))
    assert (row.status, row.result, row.error) == (RunStatus.SUCCESS, "hello you", "")


def test_the_failure_handlers_are_called(run_it: Execute) -> None:
    row = run_it(pending("hooked", kwargs={"fail": True}))
    assert row.status == RunStatus.FAILED
    assert tasks.seen[2:] == [("on_failure", "asked to", "ValueError: asked to"), ("after_return", "FAILURE")]


def test_a_task_that_ignores_its_result_leaves_none(run_it: Execute) -> None:
    row = run_it(pending("ignoring"))
    assert (row.status, row.result) == (RunStatus.SUCCESS, None)
    assert not TaskResult.objects.filter(task_id=row.id).exists()


def test_an_error_is_stored_with_its_traceback(run_it: Execute) -> None:
    """The traceback begins in the task, not in this package."""
    row = run_it(pending("fail", module=TASKS))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.EXCEPTION)
    assert row.error == "ValueError: as asked"
    assert "in fail" in row.traceback
    assert "routines_app" not in row.traceback
    record = TaskResult.objects.get(task_id=row.id)
    assert (record.status, json.loads(record.result)["exc_type"]) == ("FAILURE", "ValueError")


def test_self_retry_becomes_a_retry_of_the_routine(run_it: Execute) -> None:
    """With the delay and the arguments that were asked for, and nothing is published."""
    with_hook = current_app.tasks[f"{HERE}.retrying"]
    row = run_it(pending("retrying", kwargs={"countdown": 120}))
    assert (row.status, row.error) == (RunStatus.FAILED, "KeyError: 'first'")
    retry = RoutineRun.objects.get(retry_of=row)
    assert retry.eligible_at > timezone.now() + timedelta(seconds=100)
    assert getattr(with_hook.retry, "_routines_retry", False)


@pytest.mark.parametrize("kind", ["datetime", "nul", "nan", "never"])
def test_a_retry_that_the_ledger_cannot_hold_fails_the_run_clearly(run_it: Execute, kind: str) -> None:
    """It is not retried, as it would ask for the same again."""
    row = run_it(pending("retrying_oddly", kwargs={"kind": kind}))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.BAD_ARGUMENTS)
    assert row.error
    assert not RoutineRun.objects.filter(retry_of=row).exists()


@pytest.mark.parametrize(
    ("column", "stored"), [("args", '"abc"'), ("args", "{}"), ("kwargs", "[]"), ("args", DEEP), ("kwargs", DIGITS)]
)
def test_arguments_that_are_none_are_not_handed_to_a_task(run_it: Execute, column: str, stored: str) -> None:
    """Plain SQL can store anything: the letters of a text are no arguments, and what cannot be read is not guessed."""
    row = pending("bound")
    if connection.vendor == "mysql" and stored == DEEP:
        pytest.skip("MariaDB takes 31 levels")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE routines_routine SET {column} = %s", [stored])
    row = run_it(row)
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.BAD_ARGUMENTS)
    assert "its arguments are no " in row.error
    assert not RoutineRun.objects.filter(retry_of=row).exists()


def test_the_tasks_that_there_are_go_to_the_log_and_not_to_the_row(run_it: Execute, caplog: Any) -> None:
    """Everybody who may look at runs reads the row."""
    row = run_it(pending("nobody_knows"))
    assert (row.reason, row.error) == (
        Reason.UNKNOWN_TASK,
        f"unknown task '{HERE}.nobody_knows': its worker has not registered it",
    )
    assert "registered: " in caplog.text


def test_an_end_that_cannot_be_written_is_recorded_as_a_failure(run_it: Execute) -> None:
    """A delay that ends after the calendar does is only noticed by Finish: the row must not stay RUNNING."""
    row = run_it(pending("retrying_oddly", kwargs={"kind": "too far"}))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.EXCEPTION)
    assert "could not be recorded: OverflowError" in row.error


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_run_that_cannot_be_watched_fails(run_it: Execute, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Its body does not begin; its row says why, its lease is free, and the pool's parent does not keep it alive."""
    board = Board()
    monkeypatch.setattr(watchdogs, "_watchdog", Watchdog())
    monkeypatch.setattr(watchdogs, "own_place", lambda: Place(board, 0))
    monkeypatch.setattr(watchdog()._companion, "ensure", failing(error))
    row = run_it(pending("hooked", concurrency_policy="FORBID", max_attempts=1))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.EXCEPTION)
    assert row.error == f"it failed outside of its body: {type(error).__name__}" + (f": {error}" if str(error) else "")
    assert (board.lines(), watchdog().runs(), tasks.seen) == ([], [], [])
    assert leases.holder(row.routine_id) is None


def failing(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("kind", "shown"), [("decimal", 1.5), ("nan", None), ("text", None), ("object", None), ("huge", None)]
)
def test_progress_that_is_no_json_does_not_lose_the_run(run_it: Execute, kind: str, shown: float | None) -> None:
    """Numbers of every kind are shown; what is no number is not, and the run ends as it did."""
    row = run_it(pending("progressing", kwargs={"kind": kind}))
    assert (row.status, row.result) == (RunStatus.SUCCESS, "done")
    assert row.progress == {"done": shown, "total": 10, "note": ""}


def test_autoretry_becomes_a_retry_of_the_routine(run_it: Execute) -> None:
    row = run_it(pending("auto_retrying"))
    assert row.error.startswith("ZeroDivisionError")
    retry = RoutineRun.objects.get(retry_of=row)
    assert timedelta(seconds=30) < retry.eligible_at - timezone.now() < timedelta(seconds=60)


def test_self_retry_outside_of_a_routine_is_celerys(run_it: Execute) -> None:
    """The task's `retry` was wrapped for a routine's run; called directly it raises the error, as Celery does."""
    run_it(pending("retrying"))
    with pytest.raises(KeyError):
        current_app.tasks[f"{HERE}.retrying"]()


def test_ignore_and_reject_end_the_run_sensibly(run_it: Execute) -> None:
    row = run_it(pending("ignored"))
    assert (row.status, row.reason) == (RunStatus.SUCCESS, Reason.IGNORED)
    row = run_it(pending("rejected"))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.REJECTED)
    assert not RoutineRun.objects.filter(retry_of=row).exists()


@pytest.mark.parametrize(("task", "error"), [("exiting", "SystemExit: 3"), ("out_of_memory", "MemoryError")])
def test_exceptions_that_usually_end_a_process_are_just_failures(run_it: Execute, task: str, error: str) -> None:
    row = run_it(pending(task))
    assert (row.status, row.reason, row.error) == (RunStatus.FAILED, Reason.EXCEPTION, error)


def test_an_error_that_cannot_be_shown_gets_a_placeholder(run_it: Execute) -> None:
    row = run_it(pending("fail_unprintable", module=TASKS))
    assert row.status == RunStatus.FAILED
    assert row.error == "UnprintableError: <UnprintableError that cannot be shown: RuntimeError>"
    assert "in fail_unprintable" in row.traceback


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("nul", "a\N{REPLACEMENT CHARACTER}b"),
        ("emoji", "\N{PARTY POPPER}"),
        ("surrogate", "a\N{REPLACEMENT CHARACTER}b"),
        ("nan", "nan"),
        ("set", "{1, 2}"),
    ],
)
def test_odd_results_are_stored_visibly(run_it: Execute, kind: str, stored: Any) -> None:
    row = run_it(pending("odd_result", module=TASKS, kwargs={"kind": kind}))
    assert row.result == stored


def test_a_result_that_is_too_large_says_so(run_it: Execute) -> None:
    row = run_it(pending("big_result", module=TASKS, kwargs={"size": 1_000_000}))
    assert row.result["too_large"].startswith("1,000,002 bytes, kept are 65,")
    assert row.result["beginning"].startswith('"xxx')
    assert len(json.dumps(row.result)) <= get_settings().max_result_bytes


def test_a_time_out_interrupts_the_body_and_is_retried(run_it: Execute) -> None:
    """The row says where it was then."""
    row = run_it(pending("spinning", kwargs={"seconds": 20}, timeout_ms=1000))
    assert tasks.seen == ["cleaned up"]
    assert (row.status, row.reason, row.error) == (RunStatus.FAILED, Reason.TIMEOUT, "timed out after 1 s")
    assert "in spinning" in row.traceback
    assert RoutineRun.objects.filter(retry_of=row).count() == 1


def test_a_body_that_cleans_up_and_returns_within_its_grace_has_succeeded(run_it: Execute) -> None:
    row = run_it(pending("spinning", kwargs={"seconds": 20, "clean_up": "return"}, timeout_ms=1000))
    assert tasks.seen == ["cleaned up"]
    assert (row.status, row.reason, row.result) == (RunStatus.SUCCESS, Reason.NONE, "to the end")


def test_what_a_body_raises_when_its_time_is_out_is_its_failure(run_it: Execute) -> None:
    """With the reason that made it do so."""
    row = run_it(pending("spinning", kwargs={"seconds": 20, "clean_up": "raise"}, timeout_ms=1000))
    assert (row.status, row.reason, row.error) == (RunStatus.FAILED, Reason.TIMEOUT, "ValueError: in the middle of it")


def test_a_transaction_that_the_body_left_open_swallows_nothing(run_it: Execute) -> None:
    row = run_it(pending("leaving_a_transaction"))
    assert row.status == RunStatus.SUCCESS
    assert connection.get_autocommit()


def test_task_code_can_ask_and_tell_about_its_run(run_it: Execute) -> None:
    """Of many log lines the newest are kept, in order."""
    row = run_it(pending("talkative", kwargs={"lines": 250}, concurrency_policy="FORBID"))
    [(run_id, name, attempt, fence, cancelled, slot, deadline)] = tasks.seen
    assert (run_id, name, attempt, fence, cancelled) == (str(row.id), "of talkative", 1, 1, False)
    assert slot == row.scheduled_for
    assert row.started_at is not None
    assert deadline == row.started_at + timedelta(minutes=5)
    assert row.progress == {"done": 250, "total": 250, "note": "all\N{REPLACEMENT CHARACTER}said"}
    lines = list(RunLog.objects.filter(run=row).values_list("line", flat=True))
    assert lines == [f"line {number}" for number in range(50, 250)]
    assert current_run() is None


def test_an_eager_run_needs_no_redis(settings: Any) -> None:
    """Exclusive too: the running key is enough inside one process."""
    settings.ROUTINES = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    row = pending("bound", concurrency_policy="FORBID")
    current_app.tasks[EXECUTE_TASK].apply(args=[str(row.id)], task_id=str(row.id))
    assert watchdog().runs() == []
    row.refresh_from_db()
    assert (row.status, row.fence, row.running_key) == (RunStatus.SUCCESS, 1, None)
