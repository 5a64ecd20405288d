"""A stranger holds the row of a run that a worker is to start: the worker is there for the other runs."""

from __future__ import annotations

import time

from django.db import transaction
from django.utils import timezone

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack


def test_fault_31_a_held_run_takes_no_workers_place(stack: Stack, fault: Fault) -> None:
    """Row 31: its messages give up soon, a beat names it, sends no more meanwhile, and rings it in when it is free."""
    beat = stack.beat()
    stack.worker(concurrency=1)
    held = ring(routine("held"), send=False, publish_after=timezone.now())
    others = [ring(routine(f"other {number}"), send=False) for number in range(3)]
    with transaction.atomic():
        list(RoutineRun.objects.select_for_update().filter(id=held.id))
        for rung in [held, held, held, *others]:
            rung.send()
        began = time.time()
        done = lambda: all(other.refresh() == RunStatus.SUCCESS for other in others)  # noqa: E731
        stack.wait_until(done, 40, "the worker waits for somebody else's row")
        fault.recovered(time.time() - began, 10, "31: other runs of the worker that meets a held row")
        stack.wait_until(lambda: "routine held waits" in beat.log(), 20, "nobody is told")
        assert held.refresh() == RunStatus.PENDING
    stack.wait_until(lambda: held.refresh() == RunStatus.SUCCESS, 20, "free again, and does not start")
    assert held.row.publish_count <= 3  # as a rule 2: a beat may have rung it in before the row was held
    assert len([body for body in stack.bodies() if body.run == str(held.id)]) == 1
