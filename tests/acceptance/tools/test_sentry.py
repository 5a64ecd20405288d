"""Sentry's SDK with its Celery integration: one event per failing attempt, under the task's name; Crons check-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Stack
from tests.acceptance.tools import tasks
from tests.acceptance.tools.lines import VARIABLE, read_lines

TASKS = tasks.__name__
BROKEN, CHATTY, AGAIN, CONVERTING, LEAVING = (
    f"{TASKS}.{name}" for name in ("broken", "chatty", "again", "converting", "leaving")
)
SLEEPY = "tests.acceptance.tasks.sleepy"


class Sentry:
    """What has arrived there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def items(self, kind: str) -> list[dict[str, Any]]:
        return [line["payload"] for line in read_lines(self._path) if line["type"] == kind]

    def events_of(self, run: RoutineRun) -> list[dict[str, Any]]:
        return [event for event in self.items("event") if event.get("tags", {}).get("celery_task_id") == str(run.id)]

    def transactions_of(self, run: RoutineRun) -> list[dict[str, Any]]:
        found = self.items("transaction")
        return [each for each in found if each.get("tags", {}).get("celery_task_id") == str(run.id)]

    def check_ins_of(self, routine: str) -> list[dict[str, Any]]:
        return [check_in for check_in in self.items("check_in") if check_in["monitor_slug"] == routine]


@pytest.fixture(params=["prefork", "threads", "gevent", "solo"])
def sentry(stack: Stack, request: pytest.FixtureRequest) -> Sentry:
    """Hears a worker and a beat."""
    path = stack.directory / "sentry.jsonl"
    environment = {"ROUTINES_TEST_IMPORTS": f"{TASKS} tests.acceptance.tools.with_sentry", VARIABLE: str(path)}
    worker = stack.start_worker(pool=request.param, **environment)
    stack.beat(**environment)
    worker.wait_for_log(" ready.")
    return Sentry(path)


def ended(stack: Stack, run: Rung | RoutineRun) -> RoutineRun:
    row = run.row if isinstance(run, Rung) else run

    def has_ended() -> bool:
        row.refresh_from_db()
        return row.status not in (RunStatus.PENDING, RunStatus.RUNNING)

    stack.wait_until(has_ended, 30, "the run did not end")
    return row


def test_sentry_sees_the_users_task_as_it_ran(stack: Stack, sentry: Sentry) -> None:
    """One worker shows them all."""
    good, bad, slow, stopped, own = (
        ring(routine("good", task=CHATTY, args=["hello"])),
        ring(routine("bad", task=BROKEN, max_attempts=2)),
        ring(routine("slow", task=SLEEPY, args=[60], timeout_ms=1_000, max_attempts=1)),
        ring(routine("stopped", task=SLEEPY, args=[60])),
        ring(routine("own", task=AGAIN, max_attempts=1)),
    )
    nightly = ring(berlin("nightly", task=CHATTY, args=["night"], cron="30 2 * * *", trigger_kind="CRON"))
    hourly = ring(berlin("hourly", task=BROKEN, interval_ms=7_200_000, trigger_kind="INTERVAL", max_attempts=1))
    quick = ring(berlin("quick", task=CHATTY, args=["q"], interval_ms=5_000, trigger_kind="INTERVAL"))
    stack.wait_until(lambda: stack.bodies("stopped"), 20, "it did not start")
    service.cancel_run(stopped.row, reason="enough")
    converted = ring(routine("converted", task=CONVERTING))
    stack.wait_until(lambda: stack.bodies("converted"), 20, "it did not start")
    service.cancel_run(converted.row, reason="enough")
    left = ring(routine("left", task=LEAVING, max_attempts=1))
    assert [ended(stack, run).status for run in (converted, left)] == [RunStatus.CANCELLED, RunStatus.FAILED]
    rows = [ended(stack, run) for run in (good, bad, slow, stopped, own, nightly, hourly, quick)]
    assert [row.status[:4] for row in rows] == ["SUCC", "FAIL", "FAIL", "CANC", "FAIL", "SUCC", "FAIL", "SUCC"]
    chains = {name: chain(stack, run) for name, run in (("bad", bad), ("own", own))}
    stack.wait_until(lambda: sentry.transactions_of(chains["own"][-1]), 20, "the last one never arrived")

    a_success_is_a_transaction(sentry, good.row)
    each_failing_attempt_is_one_event(sentry, chains["bad"])
    a_time_out_is_one_event(sentry, slow.row)
    an_exit_of_the_tasks_own_is_one_event(sentry, left.row)
    neither_a_cancellation_nor_a_retry_is_an_event(sentry, [stopped.row, converted.row], chains["own"])
    nothing_else_was_told(sentry, [*chains["bad"], slow.row, hourly.row, left.row])
    check_ins_begin_and_end(sentry)


def berlin(name: str, **policies: Any) -> Any:
    return routine(name, timezone="Europe/Berlin", **policies)


def chain(stack: Stack, run: Rung) -> list[RoutineRun]:
    """Its two attempts: the second is published by the beat."""
    stack.wait_until(run.retries, 20, "there is no second attempt")
    return [run.row, *(ended(stack, retry) for retry in run.retries())]


def a_success_is_a_transaction(sentry: Sentry, run: RoutineRun) -> None:
    (transaction,) = sentry.transactions_of(run)
    assert transaction["transaction"] == CHATTY
    assert transaction["contexts"]["trace"]["status"] == "ok"
    assert sentry.events_of(run) == []


def each_failing_attempt_is_one_event(sentry: Sentry, attempts: list[RoutineRun]) -> None:
    """And none more when the chain is exhausted."""
    assert len(attempts) == 2
    for attempt in attempts:
        (event,) = sentry.events_of(attempt)
        assert event["exception"]["values"][-1]["type"] == "ValueError"
        assert event["transaction"] == BROKEN
        assert event["extra"]["celery-job"]["task_name"] == BROKEN
        (transaction,) = sentry.transactions_of(attempt)
        assert transaction["contexts"]["trace"]["status"] == "internal_error"


def a_time_out_is_one_event(sentry: Sentry, run: RoutineRun) -> None:
    (event,) = sentry.events_of(run)
    assert event["exception"]["values"][-1]["type"] == "SoftTimeLimitExceeded"
    assert event["transaction"] == SLEEPY


def an_exit_of_the_tasks_own_is_one_event(sentry: Sentry, run: RoutineRun) -> None:
    (event,) = sentry.events_of(run)
    assert "3" in event["exception"]["values"][-1]["value"]
    (transaction,) = sentry.transactions_of(run)
    assert transaction["contexts"]["trace"]["status"] == "internal_error"


def neither_a_cancellation_nor_a_retry_is_an_event(
    sentry: Sentry, stopped: list[RoutineRun], own: list[RoutineRun]
) -> None:
    """A cancelled body may raise what it likes."""
    assert [row.status for row in own] == [RunStatus.FAILED, RunStatus.SUCCESS]
    for run, status in (*((each, "aborted") for each in stopped), (own[0], "aborted"), (own[1], "ok")):
        assert sentry.events_of(run) == []
        (transaction,) = sentry.transactions_of(run)
        assert transaction["contexts"]["trace"]["status"] == status


def nothing_else_was_told(sentry: Sentry, failed: list[RoutineRun]) -> None:
    """No event of ours, from the log say, and no name of ours."""
    assert len(sentry.items("event")) == len(failed)
    names = {item["transaction"] for item in sentry.items("event") + sentry.items("transaction")}
    assert names == {BROKEN, CHATTY, SLEEPY, AGAIN, CONVERTING, LEAVING}


def check_ins_begin_and_end(sentry: Sentry) -> None:
    """For cron and interval routines that Sentry can follow, as it does for Celery's own beat."""
    crontab = {"schedule": {"type": "crontab", "value": "30 2 * * *"}, "timezone": "Europe/Berlin"}
    interval = {"schedule": {"type": "interval", "value": 2, "unit": "hour"}, "timezone": "Europe/Berlin"}
    for name, last, config in (("nightly", "ok", crontab), ("hourly", "error", interval)):
        begun, ended = sentry.check_ins_of(name)
        assert [begun["status"], ended["status"]] == ["in_progress", last]
        assert begun["check_in_id"] == ended["check_in_id"]
        assert begun["monitor_config"] == ended["monitor_config"] == config
        assert 0 <= ended["duration"] < 60
    assert {check_in["monitor_slug"] for check_in in sentry.items("check_in")} == {"nightly", "hourly"}
