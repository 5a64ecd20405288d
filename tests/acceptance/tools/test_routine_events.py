"""`routine-…` events come from every process that makes them, and log records say which run they are about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from celery import current_app

from routines_app import service
from routines_app.coordination import monitors
from routines_app.coordination.monitors import Hearsay
from routines_app.core.words import RunStatus
from tests.acceptance.conftest import StackFactory
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack
from tests.acceptance.tools import tasks
from tests.receiving import Monitor, monitoring

TASKS = tasks.__name__
SLEEPY = "tests.acceptance.tasks.sleepy"
FACTS = {"routine", "routine_id", "run_id", "task", "slot", "attempt", "trigger", "source", "status", "reason", "error"}


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def stack(make_stack: StackFactory, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Nobody has asked for events by a setting; logs are JSON."""
    monkeypatch.setattr(monitors, "_hearsay", Hearsay())
    monkeypatch.setattr(monitors, "ASK_SECONDS", 0.2)
    return make_stack(broker=request.param, settings={"ROUTINES": {"LOG_FORMAT": "json"}})


def test_every_process_tells_monitors_that_ask_later(stack: Stack) -> None:
    """A worker that was started without -E is asked by remote control, as Flower does; its children, a beat, a command
    and this process, which stands for a web process, follow. Logs of worker and beat are JSON."""
    worker = stack.worker(ROUTINES_TEST_IMPORTS=TASKS)
    with monitoring(current_app) as monitor:
        assert run_to_end(stack, "unheard", f"{TASKS}.chatty", args=["hush"]).status == RunStatus.SUCCESS
        current_app.control.enable_events()
        worker.wait_for_log("enabled by remote")
        beat = stack.beat()
        the_worker_tells(stack, monitor)
        the_beat_tells(stack, monitor)
        this_process_tells(monitor)
        a_command_tells(stack, monitor)
        assert not monitor.kinds(routine="unheard")
    the_logs_are_json(worker, beat)


def run_to_end(stack: Stack, name: str, task: str, **given: Any) -> Any:
    run = service.run_now(service.create_routine(name, task=task, max_attempts=1, **given))
    return stack.wait_until(lambda: ended(run), 20, f"{name} did not end")


def ended(run: Any) -> Any:
    run.refresh_from_db()
    return run.status not in (RunStatus.PENDING, RunStatus.RUNNING) and run


def the_worker_tells(stack: Stack, monitor: Monitor) -> None:
    """Its children do: they learn from the parent that somebody has asked."""

    routine = service.create_routine("loud", task=f"{TASKS}.chatty", args=["hello"])

    def is_heard() -> list[Any]:
        service.run_now(routine)
        return monitor.of("routine-run-succeeded", routine="loud")

    told = stack.wait_until(is_heard, 20, "the worker told nothing")[0]
    assert set(told) >= FACTS | {"uuid", "hostname", "pid", "clock", "timestamp"}
    assert told["hostname"].startswith("worker0@")
    failed = run_to_end(stack, "glass", f"{TASKS}.broken", kwargs={"what": "token=s3cret"})
    told = monitor.wait_for("routine-run-failed", routine="glass")
    expected = (str(failed.id), failed.scheduled_for.isoformat(), 1, "manual", "FAILED", "exception")
    assert tuple(told[name] for name in ("run_id", "slot", "attempt", "trigger", "status", "reason")) == expected
    assert told["error"].startswith("ValueError: token=")
    assert "s3cret" not in told["error"]
    monitor.wait_for("routine-exhausted", routine="glass")


def the_beat_tells(stack: Stack, monitor: Monitor) -> None:
    """Of a slot that finds its routine active."""
    service.create_routine(
        "slow", task=SLEEPY, args=[30], every="1s", concurrency_policy="FORBID", misfire_grace_ms=60_000
    )
    skipped = monitor.wait_for("routine-run-skipped", 40, routine="slow")
    assert (skipped["reason"], skipped["trigger"], skipped["status"]) == ("overlap", "schedule", "SKIPPED")
    service.archive_routine("slow")


def this_process_tells(monitor: Monitor) -> None:
    """What a verb does here is told from here."""
    routine = service.create_routine("held", task=SLEEPY, queue="nobody")
    run = service.run_now(routine)
    service.cancel_run(run, reason="enough")
    told = monitor.wait_for("routine-run-cancelled", routine="held")
    assert (told["run_id"], told["reason"]) == (str(run.id), "cancelled")
    assert not told["hostname"].startswith("worker")


def a_command_tells(stack: Stack, monitor: Monitor) -> None:
    """Though it ends as soon as it is done."""
    run = service.run_now("held")
    assert stack.manage("routines", "cancel", str(run.id)).returncode == 0
    monitor.wait_for("routine-run-cancelled", run_id=str(run.id))


def the_logs_are_json(worker: Process, beat: Process) -> None:
    records = json_records(worker)
    own = next(record for record in records if record["logger"] == "shop.orders")
    assert (own["message"], own["orders"], own["routine"], own["attempt"]) == ("plain hush", 3, "unheard", 1)
    assert own["task"] == f"{TASKS}.chatty"
    assert "s3cret" not in json.dumps([record for record in records if not record["logger"].startswith("celery.")])
    celerys = next(record for record in records if record["logger"] == TASKS)
    assert (celerys["message"], celerys["run_id"]) == ("task hush", own["run_id"])
    event = next(record for record in records if record.get("event") == "routine-run-failed")
    assert set(event) >= FACTS
    assert (event["routine"], event["level"]) == ("glass", "WARNING")
    (failure,) = [record for record in records if "traceback" in record]
    assert (failure["level"], failure["routine"], failure["run_id"]) == ("ERROR", "glass", event["run_id"])
    assert failure["traceback"].splitlines()[-1].startswith("ValueError: ")
    outside = next(record for record in records if record["message"].endswith(" ready."))
    assert "run_id" not in outside
    looks = [record["message"] for record in json_records(beat) if record["logger"] == "routines_app.beat.done"]
    assert "fired 1, skipped 0, published 1" in looks
    assert "fired 0, skipped 1, published 0" in looks
    assert "fired 0, skipped 0, published 0" not in looks


def json_records(process: Process) -> list[dict[str, Any]]:
    """The lines after the banner."""
    lines = [line for line in process.log().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]
