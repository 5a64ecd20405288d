"""The record of django-celery-results, by each way: a new one, one that is there already, and the one of a finish."""

from __future__ import annotations

import json
from typing import Any

import pytest
from celery import current_app
from celery.result import AsyncResult
from django_celery_results.backends import DatabaseBackend
from django_celery_results.models import TaskResult
from pytest_django import Settings

from routines_app.core.words import Reason, RunStatus
from routines_app.masks import MASK
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.end import finish, mirror
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from tests.integration.protocol.conformance.rows import (
    MOMENT,
    ODD_TEXT,
    RECENT,
    SECOND,
    columns,
    make_routine,
    make_run,
)

MODULES = (mirror, finish)

AS_JSON = {"content_type": "application/json", "content_encoding": "utf-8", "meta": '{"children": []}'}


def record_of(**values: Any) -> dict[str, Any]:
    """What mirror.py hands to either way."""
    return {
        "task_id": str(new_run_id()),
        "periodic_task_name": ODD_TEXT,
        "task_name": "some.task",
        "task_args": "[1]",
        "task_kwargs": '{"a": "100%"}',
        "worker": "me@here",
        "result": f'"{ODD_TEXT}"',
        "traceback": "Traceback …",
        "meta": AS_JSON["meta"],
        "date_created": MOMENT,
        "date_started": MOMENT + SECOND,
        "date_done": MOMENT + 2 * SECOND,
    } | values


def store(record: dict[str, Any], status: RunStatus) -> None:
    mirror._store(dict(record), status)


def stored() -> list[dict[str, Any]]:
    found = [columns(record) for record in TaskResult.objects.order_by("id")]
    return [{name: value for name, value in record.items() if name != "id"} for record in found]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "state"),
    [(RunStatus.SUCCESS, "SUCCESS"), (RunStatus.FAILED, "FAILURE"), (RunStatus.CANCELLED, "REVOKED")],
)
@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="with everything"),
        pytest.param({"traceback": None, "result": None, "date_started": None, "worker": ""}, id="with little"),
    ],
)
def test_a_new_record(status: RunStatus, state: str, values: dict[str, Any]) -> None:
    """Every column, in Celery's words."""
    record = record_of(**values)
    store(record, status)
    assert stored() == [record | AS_JSON | {"status": state}]


@pytest.mark.django_db
def test_a_record_that_is_there_already_is_written_over() -> None:
    """Nothing of it stays but when it was created; other records are left alone."""
    record = record_of()
    task_id = record["task_id"]
    for each in (task_id, "another"):
        TaskResult.objects.create(
            task_id=each,
            periodic_task_name="old",
            task_name="routines_app.execute_run",
            task_args='"old"',
            task_kwargs='"old"',
            status="STARTED",
            worker="old",
            content_type="old",
            content_encoding="old",
            result="old",
            traceback="old",
            meta="old",
            date_started=MOMENT - 9 * SECOND,
        )
    TaskResult.objects.update(date_created=MOMENT - 10 * SECOND)
    other = columns(TaskResult.objects.get(task_id="another"))
    store(record, RunStatus.SUCCESS)
    assert stored()[0] == record | AS_JSON | {"status": "SUCCESS", "date_created": MOMENT - 10 * SECOND}
    assert columns(TaskResult.objects.get(task_id="another")) == other
    assert TaskResult.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize(
    ("outcome", "row", "status", "result", "traceback"),
    [
        pytest.param(succeeded("[1]"), {}, "SUCCESS", "[1]", None, id="a success"),
        pytest.param(
            failed(Reason.TIMEOUT, "too long", traceback="Traceback …", retryable=False),
            {},
            "FAILURE",
            '{"exc_type": "timeout", "exc_message": ["too long"], "exc_module": "builtins"}',
            "Traceback …",
            id="a failure",
        ),
        pytest.param(
            cancelled(Reason.CANCELLED),
            {"stop_requested_at": MOMENT, "stop_reason": "replaced"},
            "REVOKED",
            '{"exc_type": "cancelled", "exc_message": [""], "exc_module": "builtins"}',
            None,
            id="a run that was asked to stop",
        ),
    ],
)
def test_a_finish_writes_the_record(
    outcome: Outcome, row: dict[str, Any], status: str, result: str, traceback: str | None
) -> None:
    """In its own statement or right after it: the record is the same."""
    routine = make_routine(args=[1], kwargs={"a": 2})
    run = make_run(routine, status=RunStatus.RUNNING, worker="me@here", started_at=MOMENT, **row)
    end(run, outcome)
    assert stored() == [
        AS_JSON
        | {
            "task_id": str(run.id),
            "periodic_task_name": routine.name,
            "task_name": routine.task,
            "task_args": "[1]",
            "task_kwargs": '{"a": 2}',
            "status": status,
            "worker": "me@here",
            "result": result,
            "traceback": traceback,
            "date_created": MOMENT,
            "date_started": MOMENT,
            "date_done": RECENT,
        }
    ]


SECRETS: dict[str, Any] = {"url": "https://u:hunter2@us.example", "token": "hunter2", "n": 1}
SHOWN = {"url": f"https://u:{MASK}@us.example", "token": MASK, "n": 1}
FAILURE = failed(Reason.EXCEPTION, "ValueError: pwd=hunter2", traceback="Traceback\n  token = hunter2", retryable=False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize("outcome", [succeeded(json.dumps(SECRETS)), succeeded('"pwd=hunter2"'), FAILURE])
def test_the_record_has_no_secrets(outcome: Outcome) -> None:
    """It can be searched and read in an admin that is not ours; the ledger keeps what it was given."""
    run = make_run(make_routine(args=["--pass", "hunter2"], kwargs=SECRETS), status=RunStatus.RUNNING)
    end(run, outcome)
    record = TaskResult.objects.get()
    told = [record.task_args, record.task_kwargs, record.result, record.traceback]
    assert not any("hunter2" in (text or "") for text in told)
    assert [json.loads(text) for text in told[:2]] == [["--pass", MASK], SHOWN]
    run.refresh_from_db()
    kept = None if outcome.result is None else json.loads(outcome.result)
    assert (run.result, run.error, run.traceback) == (kept, outcome.error, outcome.traceback)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
def test_programs_read_the_rest_of_a_result() -> None:
    """A mask is only where a name says so; a result without secrets is the very text."""
    for result in (json.dumps(SECRETS), '{"n":  1}'):
        end(make_run(make_routine(), status=RunStatus.RUNNING), succeeded(result))
    results = [record.result for record in TaskResult.objects.order_by("id")]
    assert results == [json.dumps(SHOWN), '{"n":  1}']
    assert (
        AsyncResult(TaskResult.objects.earliest("id").task_id, backend=DatabaseBackend(app=current_app)).get() == SHOWN
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
def test_a_project_may_want_secrets_in_the_records(settings: Settings) -> None:
    """Its programs read them there, say."""
    settings.ROUTINES = {**settings.ROUTINES, "MIRROR_SECRETS": True}
    run = make_run(make_routine(args=["--pass", "hunter2"], kwargs=SECRETS), status=RunStatus.RUNNING)
    end(run, succeeded(json.dumps(SECRETS)))
    record = TaskResult.objects.get()
    found = [json.loads(text) for text in (record.task_args, record.task_kwargs, record.result)]
    assert found == [["--pass", "hunter2"], SECRETS, SECRETS]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
def test_a_finish_that_has_lost_the_row_writes_no_record() -> None:
    """The record is whoever's who ended the run."""
    run = make_run(make_routine(), status=RunStatus.RUNNING)
    ours = facts.load(run.id)
    assert ours is not None
    RoutineRun.objects.filter(id=run.id).update(status=RunStatus.SUCCESS, completed_at=MOMENT)
    assert finish.finish(ours, succeeded("1")) == finish.Lost()
    assert stored() == []


def end(run: RoutineRun, outcome: Outcome) -> None:
    ours = facts.load(run.id)
    assert ours is not None
    finish.finish(ours, outcome)
