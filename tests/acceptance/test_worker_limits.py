"""Celery's own soft limit, set for a whole worker, and runs: it may end a body, never a Start or a Finish."""

from __future__ import annotations

from django.db import transaction

from routines_app.core.words import RunStatus
from routines_app.models import RoutineState
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack

SLEEPY = "tests.acceptance.tasks.sleepy"
LIMITED = ("--soft-time-limit", "1")


def test_a_soft_limit_of_the_project_cuts_no_start_in_half(stack: Stack) -> None:
    """The ledger keeps the start waiting for longer than the limit; then the run runs."""
    worker = stack.worker(concurrency=1, arguments=LIMITED)
    made = routine("waits at the start", concurrency_policy="FORBID")
    run = ring(made, send=False)
    with transaction.atomic():
        RoutineState.objects.select_for_update().get(pk=made.pk)
        run.send()
        worker.wait_for_log("Soft time limit (1.0s) exceeded")
    stack.wait_until(lambda: run.refresh() == RunStatus.SUCCESS, 15, "the run did not start")
    assert run.retries() == []


def test_a_soft_limit_of_the_project_cuts_no_finish_in_half(stack: Stack) -> None:
    """The body has ended; the ledger keeps its end waiting for longer than the limit, and records it."""
    worker = stack.worker(concurrency=1, arguments=LIMITED)
    made = routine("waits at the end", task=SLEEPY, kwargs={"seconds": 0.4})
    run = ring(made)
    stack.wait_until(lambda: stack.bodies("waits at the end"), 15, "the run did not start")
    with transaction.atomic():
        RoutineState.objects.select_for_update().get(pk=made.pk)
        worker.wait_for_log("Soft time limit (1.0s) exceeded")
    stack.wait_until(lambda: run.refresh() == RunStatus.SUCCESS, 15, "the success was not recorded")
    worker.wait_for_log(f"[{run.id}] succeeded")  # and what follows the commit has happened
    assert run.retries() == []
