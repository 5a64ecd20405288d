"""What a worker reports of runs, as monitors, logs and handlers get it: the user's task, once, as the ledger has it."""

from __future__ import annotations

import os
import signal
from uuid import UUID, uuid4

import pytest

from routines_app import service
from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.app import app
from tests.acceptance.conftest import StackFactory
from tests.acceptance.process import Process
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Stack
from tests.receiving import Monitor, monitoring

TASKS = "tests.acceptance.tasks"
REPORTED = f"{TASKS}.reported"
QUIET = {"STOP_GRACE_SECONDS": 2.0, "HEARTBEAT_SECONDS": 2.0}


def reported(how: str, **policies: object) -> Rung:
    return ring(routine(how, task=REPORTED, kwargs={"how": how}, **{"max_attempts": 1} | policies))


def ended(stack: Stack, run: Rung) -> tuple[str, str]:
    stack.wait_until(lambda: run.refresh() not in ACTIVE, 40, f"{run.row.routine.name} did not end")
    return run.row.status, run.row.reason


def handlers(stack: Stack, run: Rung) -> list[str]:
    return [line["handler"] for line in stack.body_lines() if line["event"] == "handler" and line["run"] == str(run.id)]


def heard(stack: Stack, monitor: Monitor, run: Rung, kind: str) -> str:
    """What the one event of its end says; it is of the user's task."""
    stack.wait_until(lambda: monitor.ends_of(run.id), 15, f"nothing was heard of {run.row.routine.name}")
    [event] = monitor.ends_of(run.id)
    assert event["type"] == kind, run.row.routine.name
    assert {event["name"] for event in monitor.of("task-received", uuid=str(run.id))} == {run.row.task}
    return str(event.get("result") or event.get("exception"))


def say_goodbye(stack: Stack, monitor: Monitor) -> None:
    """Whatever was said before has been heard then."""
    last = ring(routine(f"last {uuid4()}"))
    stack.wait_until(lambda: monitor.ends_of(last.id), 20, "the last run was not heard of")


def garbage() -> UUID:
    """A message that nobody of ours wrote."""
    task_id = uuid4()
    with app.connection_for_write() as connection:
        app.send_task(EXECUTE_TASK, args=["no run"], task_id=str(task_id), connection=connection, ignore_result=True)
    return task_id


@pytest.mark.parametrize("pool", ["prefork", "threads", "gevent", "solo"])
def test_a_worker_reports_each_run_as_the_ledger_has_it(make_stack: StackFactory, pool: str) -> None:
    """One worker, one run of each kind: events, handlers and tracebacks."""
    stack = make_stack(settings={"ROUTINES": QUIET})
    with monitoring(app) as monitor:
        worker = stack.worker(pool=pool, concurrency=3, arguments=("-E",))
        fine = reported("return")
        fine.send()  # and once more, which does nothing
        failing, retried = reported("raise"), reported("retry")
        unknown = ring(routine("unknown", task="nobody.knows"))
        misfit = ring(routine("misfit", task=REPORTED, kwargs={"wrong": 1}))
        slow, tidy = reported("wait", timeout_ms=1000), reported("tidy", timeout_ms=1000)
        refused = garbage()
        cancelled = ring(routine("cancelled", task=REPORTED, kwargs={"how": "wait"}))

        assert ended(stack, fine)[0] == ended(stack, tidy)[0] == RunStatus.SUCCESS
        for run in (fine, tidy):
            assert heard(stack, monitor, run, "task-succeeded") == repr(run.row.routine.name)
            assert handlers(stack, run) == ["on_success"]
        assert ended(stack, failing) == (RunStatus.FAILED, Reason.EXCEPTION)
        assert heard(stack, monitor, failing, "task-failed") == "ValueError('raised as asked')"
        assert ended(stack, slow) == (RunStatus.FAILED, Reason.TIMEOUT)
        assert "SoftTimeLimitExceeded" in heard(stack, monitor, slow, "task-failed")
        assert ended(stack, unknown) == (RunStatus.FAILED, Reason.UNKNOWN_TASK)
        assert "nobody.knows" in heard(stack, monitor, unknown, "task-failed")
        assert ended(stack, misfit) == (RunStatus.FAILED, Reason.BAD_ARGUMENTS)
        assert "TypeError" in heard(stack, monitor, misfit, "task-failed")
        for run in (failing, slow, misfit):
            assert handlers(stack, run) == ["on_failure"]
            assert worker.log().count(f"Task {REPORTED}[{run.id}] raised unexpected") == 1
        assert worker.log().count("\nValueError: raised as asked") == 1  # the last line of a traceback
        assert_retried(stack, monitor, retried)
        assert_cancelled(stack, monitor, cancelled)
        say_goodbye(stack, monitor)
        assert monitor.ends_of(refused) == []
        if pool != "solo":
            assert_shut_down(stack, monitor, worker)


def assert_retried(stack: Stack, monitor: Monitor, run: Rung) -> None:
    """It has failed, and is not reported as failed: the task itself goes on."""
    assert ended(stack, run) == (RunStatus.FAILED, Reason.EXCEPTION)
    assert "retried as asked" in heard(stack, monitor, run, "task-retried")
    assert handlers(stack, run) == ["on_retry"]
    [following] = run.retries()
    assert (following.status, following.own_retries, following.budget_used) == (RunStatus.PENDING, 1, 1)


def assert_cancelled(stack: Stack, monitor: Monitor, run: Rung) -> None:
    stack.wait_until(lambda: stack.bodies("cancelled"), 20, "it did not start")
    service.cancel_run(run.id)
    assert ended(stack, run) == (RunStatus.CANCELLED, Reason.CANCELLED)
    say_goodbye(stack, monitor)
    assert (monitor.ends_of(run.id), handlers(stack, run)) == ([], [])


def assert_shut_down(stack: Stack, monitor: Monitor, worker: Process) -> None:
    """Interrupted runs have not failed: new rows take their places."""
    run = ring(routine("shut down", task=REPORTED, kwargs={"how": "wait"}))
    stack.wait_until(lambda: stack.bodies("shut down"), 20, "it did not start")
    os.kill(worker.pid, signal.SIGQUIT)
    assert ended(stack, run) == (RunStatus.CANCELLED, Reason.INTERRUPTED)
    worker.wait(20)
    assert [end for end in monitor.ends_of(run.id) if end["type"] in ("task-failed", "task-succeeded")] == []
    assert handlers(stack, run) == []


def test_a_run_that_is_lost_with_its_process_is_reported_under_its_task(make_stack: StackFactory) -> None:
    """By the pool's parent: a killed child, a hard limit, a body that does not stop; a cancelled one is no failure."""
    stack = make_stack(settings={"ROUTINES": QUIET})
    with monitoring(app) as monitor:
        worker = stack.worker(concurrency=4, arguments=("-E",))
        killed = ring(routine("killed", task=REPORTED, kwargs={"how": "wait"}, max_attempts=1))
        deaf = routine("deaf", task=f"{TASKS}.hold_gil", kwargs={"seconds": 30}, timeout_ms=60_000, max_attempts=1)
        limited = ring(deaf, send=False)
        limited.send(time_limit=2)
        stubborn = reported("stubborn", timeout_ms=1000)
        unwanted = ring(routine("unwanted", task=REPORTED, kwargs={"how": "stubborn"}))
        stack.wait_until(lambda: stack.bodies("killed") and stack.bodies("unwanted"), 20, "they did not start")
        service.cancel_run(unwanted.id)
        os.kill(stack.bodies("killed")[0].pid, signal.SIGKILL)

        assert ended(stack, killed) == (RunStatus.FAILED, Reason.WORKER_LOST)
        assert "WorkerLostError" in heard(stack, monitor, killed, "task-failed")
        assert ended(stack, limited) == (RunStatus.FAILED, Reason.TIMEOUT)
        assert "TimeLimitExceeded" in heard(stack, monitor, limited, "task-failed")
        assert ended(stack, stubborn) == (RunStatus.FAILED, Reason.TIMEOUT)
        assert "TimeLimitExceeded" in heard(stack, monitor, stubborn, "task-failed")
        assert handlers(stack, stubborn) == ["on_failure"]
        for run in (killed, limited, stubborn):
            assert worker.log().count(f"Task {run.row.task}[{run.id}] raised unexpected") == 1
        assert ended(stack, unwanted) == (RunStatus.CANCELLED, Reason.CANCELLED)
        stack.wait_until(lambda: worker.log().count("its process ends") == 2, 20, "its process did not end")
        how = ("its process ends", "its process is killed", "Hard time limit")
        lines = [line for line in worker.log().splitlines() if any(each in line for each in how)]
        assert not any("ERROR" in line for line in lines)  # error trackers make events of those, cancelled or not
        say_goodbye(stack, monitor)
        assert (monitor.ends_of(unwanted.id), handlers(stack, unwanted)) == ([], [])
        assert [len(monitor.ends_of(run.id)) for run in (killed, limited, stubborn)] == [1, 1, 1]
        assert RoutineRun.objects.filter(status=RunStatus.RUNNING).count() == 0
