"""What a worker's main process makes of a message, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from typing import Any
from uuid import uuid4

import pytest
from billiard.einfo import ExceptionInfo
from billiard.exceptions import WorkerLostError
from celery import current_app, signals
from celery.exceptions import Reject
from django_celery_results.models import TaskResult
from kombu import Message

from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.core.words import Reason
from routines_app.execution.request import LONGEST_SECONDS, RoutineRequest
from routines_app.protocol.record.outcome import failed
from tests.integration.conftest import Execute
from tests.integration.execution import tasks
from tests.integration.execution.test_body import pending
from tests.processes import wait_for

HERE = tasks.__name__
BEHIND = 5 + 30  # the usual grace, and the slack


class Eventer:
    """What monitors are told."""

    enabled = True

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def send(self, kind: str, **facts: Any) -> None:
        self.sent.append((kind, facts))


def received(eventer: Eventer | None = None, **headers: Any) -> RoutineRequest:
    """As the consumer makes it, from a message with these headers."""
    run_id = headers.get("id") or str(uuid4())
    all_headers = {"id": run_id, "task": EXECUTE_TASK, "shadow": f"{HERE}.bound", **headers}
    body = ([run_id], {}, {})
    message = Message(body=body, headers=all_headers, delivery_info={}, properties={})
    carrier = current_app.tasks[EXECUTE_TASK]
    options = {"headers": all_headers, "body": body, "decoded": True, "eventer": eventer}
    return RoutineRequest(message, app=current_app, task=carrier, **options)


@pytest.mark.parametrize("shadow", [["a"], {"a": 1}, 7, None, "nobody's", ""])
def test_a_message_that_names_no_task_is_received(shadow: Any) -> None:
    """Anything else would stop the consumer, and the worker with it."""
    assert received(shadow=shadow).time_limits == (300 + BEHIND, 300 + BEHIND)


@pytest.mark.parametrize(
    "limit", ["soon", ["soon", 1], [True, True], [[1], 2], {"a": 1}, [], 7, [nan, nan], [-1, -1], None]
)
def test_a_time_limit_that_is_none_is_as_good_as_unset(limit: Any) -> None:
    assert received(timelimit=limit).time_limits == (300 + BEHIND, 300 + BEHIND)


@pytest.mark.parametrize("limit", [10**400, inf], ids=["huge", "inf"])
def test_a_time_limit_is_one_that_a_timer_can_be_set_to(limit: float) -> None:
    assert received(timelimit=[limit, limit]).time_limits == (LONGEST_SECONDS, LONGEST_SECONDS)


def test_celerys_own_limit_stands_behind_every_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind an unset one as well: nothing else ends a process that nobody can look into."""
    assert received(timelimit=[None, None]).time_limits == (300 + BEHIND, 300 + BEHIND)
    assert received(timelimit=[150.0, 150.0]).time_limits == (150.0, 150.0)
    assert received(timelimit=[0, 0]).time_limits == (None, None)
    with monkeypatch.context() as patched:  # none would be the worker's, which counts from the delivery on
        patched.setattr(current_app.tasks[f"{HERE}.bound"], "soft_time_limit", 3)
        assert received(timelimit=[0, 0]).time_limits == (None, LONGEST_SECONDS)
    monkeypatch.setattr(current_app.tasks[f"{HERE}.bound"], "time_limit", 20)
    for limit in (None, 0, 150.0):
        assert received(timelimit=[limit, limit]).time_limits == (20 + BEHIND, 20 + BEHIND)


@pytest.fixture
def failures() -> Iterator[list[dict[str, Any]]]:
    """What Celery's signal told of the tasks of these tests."""
    found: list[dict[str, Any]] = []

    def receive(**facts: Any) -> None:
        found.append(facts)

    signals.task_failure.connect(receive, weak=False)
    yield found
    signals.task_failure.disconnect(receive)


@pytest.mark.parametrize(
    ("task", "kind", "told"),
    [
        pytest.param("registered", "task-succeeded", {"result": "'hello you'"}, id="a success"),
        pytest.param("retrying_with", "task-retried", {}, id="the task's own retry"),
        pytest.param("hooked", "task-failed", {"exception": "ValueError: asked to"}, id="a failure"),
    ],
)
def test_a_process_lost_after_its_run_ended_changes_nothing_about_it(
    run_it: Execute, failures: list[dict[str, Any]], task: str, kind: str, told: dict[str, Any]
) -> None:
    """Monitors hear how it ended; the failure itself was told by the process, or is not told twice."""
    arguments = {"registered": ["you"], "hooked": [True]}.get(task, [])
    row = run_it(pending(task, args=arguments))
    failures.clear()
    eventer = Eventer()
    received(eventer, id=str(row.id))._end(failed(Reason.WORKER_LOST), WorkerLostError("gone"))
    ((sent, facts),) = eventer.sent
    assert (sent, facts["uuid"]) == (kind, str(row.id))
    assert told.items() <= facts.items()
    assert failures == []


def test_a_rejection_is_told_with_the_runs_own_facts(
    run_it: Execute, failures: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not stored by Celery, whatever the task says of errors."""
    task = current_app.tasks[f"{HERE}.rejected"]
    monkeypatch.setattr(task, "store_errors_even_if_ignored", True)
    row = run_it(pending("rejected", kwargs={"why": "so"}))
    eventer = Eventer()
    try:
        raise Reject("not mine", requeue=False)
    except Reject:
        info = ExceptionInfo()
    received(eventer, id=str(row.id), shadow=task.name).on_failure(info, return_ok=True)
    wait_for(lambda: failures, 15, "it was not told")
    ((kind, _),) = eventer.sent
    (told,) = failures
    assert (kind, told["sender"], told["args"], told["kwargs"]) == ("task-failed", task, (), {"why": "so"})
    assert TaskResult.objects.filter(task_id=row.id).count() == 1  # the ledger's copy
    assert TaskResult.objects.get(task_id=row.id).task_name == task.name
