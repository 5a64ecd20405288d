"""Real beats: they fire on time, share the work, hear wake-ups and leave when told."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from celery import current_app

from routines_app import service
from routines_app.coordination.wakeups import BEATS
from routines_app.models import Node, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.acceptance.stack import Stack
from tests.processes import stretched

TASK = "tests.acceptance.tasks.note"
SLEEPS_FOR_A_MINUTE = {"IDLE_SECONDS": 60, "MAX_SLEEP_SECONDS": 60, "RECONCILE_SECONDS": 60}


def dispatched(name: str) -> int:
    return RoutineRun.objects.filter(routine__name=name, dispatched_at__isnull=False).count()


def test_a_beat_publishes_each_slot_shortly_after_its_moment(stack: Stack):
    """Slots of a one-second interval are in the broker, each well within half a second."""
    stack.beat()
    stack.wait_until(lambda: Node.objects.filter(role="beat").exists(), 20, "the beat reports itself")
    service.create_routine("tick", task=TASK, every="1s")
    stack.wait_until(lambda: dispatched("tick") >= 3, 20, "three runs are published")

    runs = RoutineRun.objects.filter(dispatched_at__isnull=False)
    late = [(run.dispatched_at - run.scheduled_for).total_seconds() for run in runs]
    assert max(late) < 0.5, late


def test_two_beats_fire_a_slot_once(stack: Stack):
    """However the beats share the routines, no slot has two rows."""
    for number in range(20):
        service.create_routine(f"tick {number}", task=TASK, every="1s")
    first, second = stack.beat(), stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.count() >= 100, 30, "a hundred runs")
    first.terminate()
    second.terminate()

    slots = Counter(RoutineRun.objects.values_list("routine_id", "scheduled_for"))
    assert set(slots.values()) == {1}


def test_a_new_routine_wakes_a_sleeping_beat(make_stack):
    """The edit takes effect at once, not at the next poll."""
    stack = make_stack(settings={"ROUTINES": SLEEPS_FOR_A_MINUTE})
    beat = stack.beat()
    stack.wait_until(lambda: stack.listeners(BEATS), 20, "the beat sleeps, and listens")
    began = time.monotonic()
    routine = service.create_routine("hand", task=TASK)
    service.propose_next_time(routine, clock.now(), ttl="1h")
    stack.wait_until(lambda: dispatched("hand") == 1, 10, "the hinted run is published")
    assert time.monotonic() - began < stretched(1.0), beat.log()


def test_sigterm_ends_a_busy_beat_within_two_seconds(stack: Stack):
    """A clean exit while thousands of routines are due."""
    for number in range(50):
        service.create_routine(f"tick {number}", task=TASK, every="1s")
    beat = stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.count() >= 50, 30, "the beat is busy")
    began = time.monotonic()
    beat.terminate()
    assert beat.wait(5) == 0, beat.log()
    assert time.monotonic() - began < stretched(2.0)


def test_the_static_schedule_fires_once_with_two_beats(make_stack):
    """Entries of beat_schedule become routines, are marked as the code's, and fire once."""
    schedule = {"every second": {"task": TASK, "schedule": 1.0}}
    stack = make_stack(settings={"CELERY_BEAT_SCHEDULE": schedule, "CELERY_RESULT_EXPIRES": 86_400})
    stack.beat()
    stack.beat()
    stack.wait_until(lambda: dispatched("every second") >= 3, 30, "the entry fires")
    routine = Routine.objects.get(name="every second")
    assert routine.declared_in == current_app.main
    slots = Counter(RoutineRun.objects.filter(routine=routine).values_list("scheduled_for", flat=True))
    assert set(slots.values()) == {1}
    assert Routine.objects.filter(name="celery.backend_cleanup", declared_in=current_app.main).exists()


@pytest.mark.rabbitmq
def test_a_beat_publishes_to_rabbitmq(make_stack):
    """The same beat, the other broker."""
    stack = make_stack(broker="rabbitmq")
    service.create_routine("tick", task=TASK, every="1s")
    stack.beat()
    stack.wait_until(lambda: dispatched("tick") >= 2, 20, "two runs are published")
