"""What a worker does with a run that reaches it: real processes, no beat, rows written by the test."""

from __future__ import annotations

import time

import pytest
from django.db import connection
from django_celery_results.models import TaskResult

from routines_app.core.words import Reason, RunStatus
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack

TASKS = "tests.acceptance.tasks"


def test_a_plain_task_succeeds_and_its_result_is_kept(stack: Stack) -> None:
    """The body runs once, and run row and django-celery-results tell the same."""
    stack.worker()
    run = ring(routine("greet", args=[1], kwargs={"a": 2}))
    stack.wait_until(lambda: run.refresh() == RunStatus.SUCCESS, 10, "the run did not succeed")
    assert run.row.result == {"args": [1], "kwargs": {"a": 2}}
    [body] = stack.bodies("greet")
    assert body.run == str(run.id)
    record = stack.wait_until(lambda: TaskResult.objects.filter(task_id=run.id).first(), 5, "nothing was mirrored")
    assert (record.status, record.periodic_task_name) == ("SUCCESS", "greet")


@pytest.mark.parametrize("database", ["sqlite", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def test_other_databases_do_the_same(make_stack: StackFactory, database: str) -> None:
    """An exclusive run, a failure with its retry row, and a time-out, without PostgreSQL's statements."""
    stack = make_stack(database=database)
    stack.worker()
    alone = ring(routine("alone", task=f"{TASKS}.progressing", concurrency_policy="FORBID", kwargs={"seconds": 3}))
    failing = ring(routine("failing", task=f"{TASKS}.fail"))
    slow = ring(routine("slow", task=f"{TASKS}.sleepy", kwargs={"seconds": 30}, timeout_ms=1000, max_attempts=1))
    stack.wait_until(lambda: alone.refresh() == RunStatus.SUCCESS, 20, "the exclusive run did not succeed")
    assert (alone.row.fence, alone.row.running_key) == (1, None)
    assert alone.row.progress == {"done": 5, "total": 5, "note": "step 5"}
    assert alone.row.log_lines.count() == 5
    stack.wait_until(lambda: failing.refresh() == RunStatus.FAILED, 20, "the run did not fail")
    assert [retry.attempt for retry in failing.retries()] == [2]
    stack.wait_until(lambda: slow.refresh() == RunStatus.FAILED, 20, "the slow run was not interrupted")
    assert slow.row.reason == Reason.TIMEOUT
    assert TaskResult.objects.count() == 3


def test_a_second_message_does_nothing(stack: Stack) -> None:
    """However often a message is delivered, the body starts once."""
    stack.worker()
    run = ring(routine("greet"), times=20)
    stack.wait_until(lambda: run.refresh() == RunStatus.SUCCESS, 10, "the run did not succeed")
    last = ring(routine("last"))
    stack.wait_until(lambda: last.refresh() == RunStatus.SUCCESS, 10, "the queue was not worked off")
    assert len(stack.bodies("greet")) == 1


def test_database_connections_outlive_a_run(stack: Stack) -> None:
    """Celery's Django fix-up would close them around each task, which costs more than the run."""
    stack.worker(concurrency=1)
    warm = ring(routine("warm"))
    stack.wait_until(lambda: warm.refresh() == RunStatus.SUCCESS, 10, "the run did not succeed")
    before = sessions()
    runs = [ring(routine(f"greet{number}")) for number in range(30)]
    for run in runs:
        stack.wait_until(lambda run=run: run.refresh() == RunStatus.SUCCESS, 10, "the run did not succeed")
    assert sessions() - before < 5


def sessions() -> int:
    """How many sessions this database has seen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()")
        cursor.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_fault_23_an_unknown_task_and_wrong_arguments_fail_clearly(stack: Stack, fault: Fault) -> None:
    """Neither is retried, and the error says what is wrong."""
    stack.worker()
    rung_at = time.monotonic()
    unknown = ring(routine("unknown", task="nobody.knows"))
    wrong = ring(routine("wrong", task="tests.acceptance.tasks.sleepy", kwargs={"minutes": 1}))
    for run in (unknown, wrong):
        stack.wait_until(lambda run=run: run.refresh() == RunStatus.FAILED, 10, "the run did not fail")
        assert run.retries() == []
    fault.recovered(time.monotonic() - rung_at, 20, "23: an unknown task and wrong arguments have failed")
    assert unknown.row.reason == Reason.UNKNOWN_TASK
    assert unknown.row.error == "unknown task 'nobody.knows': its worker has not registered it"
    assert wrong.row.reason == Reason.BAD_ARGUMENTS
    assert "minutes" in wrong.row.error
