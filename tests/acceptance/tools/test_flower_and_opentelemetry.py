"""Flower's API and OpenTelemetry's spans: the user's task, its arguments and its real outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from routines_app import service
from routines_app.coordination.wakeups import wake_beats
from routines_app.models import Node, Role, RoutineRun
from tests.acceptance.databases import ROOT
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack
from tests.acceptance.tools import tasks
from tests.acceptance.tools.lines import VARIABLE, read_lines
from tests.integration.protocol.claim.test_claim import rewind
from tests.processes import free_port

TASKS = tasks.__name__
BROKEN, CHATTY, AGAIN = (f"{TASKS}.{name}" for name in ("broken", "chatty", "again"))


class Flower:
    """A real one, on the stack's broker; it asks the workers for their events by itself."""

    def __init__(self, stack: Stack, imports: str) -> None:
        port = free_port()
        arguments = ["-m", "celery", "-A", "tests.acceptance.app", "flower", "--address=127.0.0.1", f"--port={port}"]
        environment = {"FLOWER_UNAUTHENTICATED_API": "true", "ROUTINES_TEST_IMPORTS": imports, "PYTHONPATH": str(ROOT)}
        stack.start("flower", arguments, environment)
        self._address = f"http://127.0.0.1:{port}/api"

    def ask(self, path: str) -> Any:
        """None while it does not answer, or does not know yet."""
        try:
            with urlopen(f"{self._address}/{path}", timeout=5) as answer:
                return json.load(answer)
        except (HTTPError, URLError, TimeoutError, ConnectionError):
            return None

    def task(self, run: RoutineRun) -> dict[str, Any]:
        return (self.ask("tasks?limit=1000") or {}).get(str(run.id), {})


@pytest.mark.parametrize("pool", ["prefork", "threads", "gevent", "solo"])
def test_flower_and_traces_show_the_users_task(stack: Stack, pool: str) -> None:
    """A beat publishes, a worker runs: both with the instrumentation."""
    spans = stack.directory / "spans.jsonl"
    environment = {"ROUTINES_TEST_IMPORTS": f"{TASKS} tests.acceptance.tools.with_opentelemetry", VARIABLE: str(spans)}
    flower = Flower(stack, TASKS)
    worker = stack.start_worker(pool=pool, **environment)
    stack.beat(**environment)
    stack.wait_until(Node.objects.filter(role=Role.BEAT).exists, 30, "the beat does not look")
    worker.wait_for_log("enabled by remote", 60)
    due("good", CHATTY, kwargs={"word": "hello", "api_token": "s3cret"})
    due("bad", BROKEN, args=["glass"], max_attempts=1)
    due("own", AGAIN, max_attempts=1)
    wake_beats()
    runs = stack.wait_until(all_ended, 60, "not all have ended")
    in_flower(stack, flower, worker, runs)
    in_traces(stack, spans, runs)


def due(name: str, task: str, **given: Any) -> None:
    """A routine of which one slot waits for the beat."""
    policies = {"every": "1h", "misfire_grace_ms": 86_400_000, "retry_delay_ms": 0, "retry_jitter": 0}
    service.create_routine(name, task=task, **policies | given)
    rewind(name, hours=1)


def all_ended() -> dict[tuple[str, int], RoutineRun] | None:
    runs = {(run.routine.name, run.attempt): run for run in RoutineRun.objects.select_related("routine")}
    statuses = {key: run.status for key, run in runs.items()}
    ends = {("good", 1): "SUCCESS", ("bad", 1): "FAILED", ("own", 1): "FAILED", ("own", 2): "SUCCESS"}
    return runs if statuses == ends else None


def in_flower(stack: Stack, flower: Flower, worker: Process, runs: dict[tuple[str, int], RoutineRun]) -> None:
    ends = {("good", 1): "SUCCESS", ("bad", 1): "FAILURE", ("own", 1): "RETRY", ("own", 2): "SUCCESS"}

    def as_expected() -> bool:
        found = states(flower, runs)
        # A beat that has just begun may send twice what a worker has in its hands. The second message does nothing,
        # but Celery tells of its coming, and for its tools only an end outlives that: a retry is none.
        came_again = worker.log().count(f"{runs['own', 1].id}] received") > 1
        if came_again and found["own", 1] in {"RECEIVED", "STARTED"}:
            found["own", 1] = ends["own", 1]
        return found == ends

    stack.wait_until(as_expected, 30, f"Flower showed {states(flower, runs)} at first")
    seen = {key: flower.task(run) for key, run in runs.items()}
    assert {key: task["name"] for key, task in seen.items()} == {key: runs[key].task for key in ends}
    shown = seen["good", 1]["args"] + seen["good", 1]["kwargs"]
    assert "hello" in shown
    assert "s3cret" not in shown
    assert "glass" in seen["bad", 1]["args"] + seen["bad", 1]["kwargs"]
    assert "ValueError" in seen["bad", 1]["exception"]
    assert "hello" in seen["good", 1]["result"]


def states(flower: Flower, runs: dict[tuple[str, int], RoutineRun]) -> dict[tuple[str, int], Any]:
    return {key: flower.task(run).get("state") for key, run in runs.items()}


def in_traces(stack: Stack, path: Path, runs: dict[tuple[str, int], RoutineRun]) -> None:
    """One trace from the beat that has sent a message to the body; a message may go out twice."""
    for key, status in ((("good", 1), "UNSET"), (("bad", 1), "ERROR"), (("own", 1), "UNSET"), (("own", 2), "UNSET")):
        run = runs[key]
        stack.wait_until(lambda run=run: spans_of(path, run, "CONSUMER"), 20, f"{key} has left no span")
        (body,) = spans_of(path, run, "CONSUMER")
        (published,) = [
            span for span in spans_of(path, run, "PRODUCER") if span["context"]["span_id"] == body["parent_id"]
        ]
        assert (published["name"], body["name"]) == (f"apply_async/{run.task}", f"run/{run.task}")
        assert published["context"]["trace_id"] == body["context"]["trace_id"]
        assert body["status"]["status_code"] == status
    assert not [span for span in read_lines(path) if "execute_run" in span["name"]]


def spans_of(path: Path, run: RoutineRun, kind: str) -> list[dict[str, Any]]:
    spans = [span for span in read_lines(path) if span["kind"] == f"SpanKind.{kind}"]
    return [span for span in spans if str(run.id) in span["attributes"].values()]
