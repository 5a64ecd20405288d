"""Fault 33: a router function that raises, names no queue, or reads its task: only its own runs wait, and say why."""

from __future__ import annotations

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.routers import HOSTILE


def test_fault_33_a_hostile_router_stops_only_what_it_was_asked_about(make_stack: StackFactory, fault: Fault) -> None:
    """Routes are found before the broker is spoken to, for one run at a time."""
    stack = make_stack(settings={"CELERY_TASK_ROUTES": ["tests.acceptance.routers.hostile"]})
    for number in range(4):
        service.create_routine(f"note {number}", task=NOTE, args=["note"], every="1s")
    for task in HOSTILE:
        service.create_routine(task, task=task, every="1s")
    service.create_pool("narrow", max_concurrent=1)
    service.create_routine("pooled", task=next(iter(HOSTILE)), every="1s", pool="narrow")
    stack.worker(queues="notes")
    beat = stack.beat()

    done = RoutineRun.objects.filter(task=NOTE, status="SUCCESS")
    stack.wait_until(lambda: done.count() >= 12, 30, "the others do not run")

    aside = RoutineRun.objects.filter(task__in=HOSTILE, reason="publish_failed", dispatched_at=None)
    stack.wait_until(lambda: set(aside.values_list("task", flat=True)) == set(HOSTILE), 10, "they do not say why")
    errors = " ".join(aside.values_list("error", flat=True))
    assert all(text in errors for text in ("this router raises", "no queue is bound", "a server of its own"))
    assert aside.filter(routine__name="pooled").exists()
    assert "the broker is away" not in beat.log()
    last = done.latest("scheduled_for").scheduled_for
    fault.balances(stack, until=last)
