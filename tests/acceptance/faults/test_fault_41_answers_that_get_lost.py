"""Fault 41: the database's answer to start or finish is lost: every end is told, and no row RUNNING without a body."""

from __future__ import annotations

import time
from typing import Any

import pytest

from routines_app.coordination import leases
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.lossy import lossy_line
from tests.acceptance.ringing import Rung, ring, routine
from tests.acceptance.stack import Stack
from tests.settings import POSTGRES_PORT

FAIL = "tests.acceptance.tasks.fail"
TELL_SECONDS = 3.0


def told(stack: Stack, run: Rung) -> list[dict[str, Any]]:
    """What receivers of this run's signals have written down."""
    return [line for line in stack.body_lines() if line["event"] == "told" and line["run"] == str(run.id)]


def ends(stack: Stack, run: Rung, status: RunStatus) -> None:
    stack.wait_until(lambda: run.refresh() == status, 15, f"{run.row.routine.name} is {run.refresh()}")


@pytest.mark.slow
def test_fault_41_answers_that_get_lost(make_stack: StackFactory, fault: Fault) -> None:
    """At the start, at the last end, and for good: the worker dies before it has told anybody."""
    stack = make_stack(settings={"ROUTINES": {"RECONCILE_SECONDS": 1}})
    hearing = {"ROUTINES_TELL_SECONDS": str(TELL_SECONDS)}
    with lossy_line(POSTGRES_PORT) as line:
        url = stack.database_url.replace(f":{POSTGRES_PORT}/", f":{line.port}/")
        worker = stack.worker(concurrency=1, ROUTINES_TEST_DATABASE_URL=url, **hearing)
        beat = stack.beat(**hearing)

        for policy in ("ALLOW", "FORBID"):
            run = ring(routine(f"starts {policy}", task=NOTE, concurrency_policy=policy), send=False)
            line.lose(str(run.id))
            began = time.monotonic()
            run.send()
            ends(stack, run, RunStatus.SUCCESS)
            assert line.lost.is_set()
            fault.recovered(time.monotonic() - began, 5, f"41: a start whose answer was lost has its body ({policy})")
            assert [body.run for body in stack.bodies(f"starts {policy}")] == [str(run.id)]
            stack.wait_until(lambda run=run: told(stack, run), 5, "its end was not told")

        last = ring(routine("ends", task=FAIL, max_attempts=1, concurrency_policy="FORBID"), send=False)
        line.lose("'FAILED'", "COMMIT")
        last.send()
        stack.wait_until(lambda: len(told(stack, last)) == 2, 15, "the last end was not told")
        assert line.lost.is_set()
        assert last.refresh() == RunStatus.FAILED
        stack.wait_until(lambda: leases.holder(last.row.routine_id) is None, 5, "the lease was not given back")
        stack.wait_until(lambda: last.refresh() and last.row.tell_after is None, 5, "nobody noted that it was told")

        never = ring(routine("dies", task=FAIL, max_attempts=1), send=False)
        line.lose("'FAILED'", "COMMIT", silent=True)
        never.send()
        assert line.lost.wait(30)
        worker.kill9()
        died_at = time.monotonic()
        assert (never.refresh(), told(stack, never)) == (RunStatus.FAILED, [])
        stack.wait_until(lambda: len(told(stack, never)) == 2, 20, "no beat told the end")
        fault.recovered(time.monotonic() - died_at, TELL_SECONDS + 5, "41: a beat tells what a dead worker could not")

    stack.wait_until(lambda: never.refresh() and never.row.tell_after is None, 5, "the beat did not note that")
    for run in (last, never):
        assert [line["signal"] for line in told(stack, run)] == ["run_failed", "routine_exhausted"]
        assert told(stack, run)[0]["will_retry"] is False
    assert {line["pid"] for line in told(stack, never)} == {beat.pid}
    assert beat.pid not in {line["pid"] for line in told(stack, last)}
    assert not RoutineRun.objects.filter(status=RunStatus.RUNNING).exists()
