"""Results and errors that databases, JSON and pickle do not like, through a real worker (faults 25 and 26)."""

from __future__ import annotations

import time

import pytest

from routines_app import service
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RunStatus
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack

TASKS = "tests.acceptance.tasks"
ODD = ["nul", "emoji", "surrogate", "nan", "set", "object"]


def test_fault_25_odd_and_huge_results_are_stored_visibly(stack: Stack, fault: Fault) -> None:
    """Row 25: whatever a task returns, the run succeeds and its result can be read."""
    stack.worker()
    rung_at = time.monotonic()
    runs = {kind: ring(routine(kind, task=f"{TASKS}.odd_result", kwargs={"kind": kind})) for kind in ODD}
    runs["huge"] = ring(routine("huge", task=f"{TASKS}.big_result"))
    for kind, run in runs.items():
        stack.wait_until(lambda run=run: run.refresh() == RunStatus.SUCCESS, 20, f"{kind} did not succeed")
        assert run.row.result is not None
    fault.recovered(time.monotonic() - rung_at, 40, "25: odd and huge results are stored")
    huge = runs["huge"].row.result
    assert huge["too_large"].startswith("10,485,762 bytes, kept are ")
    assert 60_000 < len(huge["beginning"]) < 70_000


def test_fault_25_huge_arguments_are_refused_clearly(stack: Stack, fault: Fault) -> None:
    """Row 25: and messages stay small anyway, as they carry only the run's id."""
    asked_at = time.monotonic()
    with pytest.raises(InvalidValue, match="kwargs"):
        service.create_routine("huge", task=f"{TASKS}.note", kwargs={"text": "x" * 10_000_000})
    fault.recovered(time.monotonic() - asked_at, 5, "25: huge arguments are refused")


@pytest.mark.parametrize("task", ["fail_unprintable", "fail_unpicklable"])
def test_fault_26_errors_that_cannot_be_printed_or_pickled_leave_a_placeholder(
    stack: Stack, fault: Fault, task: str
) -> None:
    """Row 26: and the worker lives."""
    stack.worker(concurrency=1)
    rung_at = time.monotonic()
    run = ring(routine("broken", task=f"{TASKS}.{task}", max_attempts=1))
    stack.wait_until(lambda: run.refresh() == RunStatus.FAILED, 15, "the run did not fail")
    fault.recovered(time.monotonic() - rung_at, 15, f"26: an error that cannot be shown is recorded ({task})")
    assert "Error" in run.row.error
    pid = stack.bodies("broken")[0].pid
    after = ring(routine("after"))
    stack.wait_until(lambda: after.refresh() == RunStatus.SUCCESS, 15, "the worker did not go on")
    assert stack.bodies("after")[0].pid == pid
