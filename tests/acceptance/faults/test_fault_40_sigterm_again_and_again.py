"""Fault 40: SIGTERM to busy beats, again and again: gone within 2 s each, exit code 0, nothing owed.

ROUTINES_SIGTERM_TRIALS=200 asks for that many trials.
"""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from routines_app import service
from routines_app.models import Node, RoutineRun
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack

TRIALS = int(os.environ.get("ROUTINES_SIGTERM_TRIALS", "8"))
AT_ONCE = 4
CLAIMS = 100  # this many runs since the last round, and its beats are at work


@pytest.mark.timeout(120 + 15 * TRIALS)
def test_fault_40_every_busy_beat_leaves_within_two_seconds_and_owes_nothing(stack: Stack, fault: Fault) -> None:
    """Wherever the signal finds them: what they have claimed is published before they go."""
    service.create_pool("narrow", max_concurrent=5)
    for number in range(200):
        pool = {"pool": "narrow"} if number % 10 == 0 else {}
        service.create_routine(f"tick {number}", task=NOTE, interval_ms=1000 + number, **pool)
    slowest = 0.0
    for _ in range(0, TRIALS, AT_ONCE):
        slowest = max([slowest, *leave_one_after_another(stack)])
        owed = RoutineRun.objects.filter(status="PENDING", admitted_at__isnull=False, dispatched_at=None)
        assert not owed.exists(), f"{owed.count()} runs are claimed and not published"

    fault.recovered(slowest, 2, f"40: the slowest of {TRIALS} beats that were told to leave")
    gone = datetime.now(UTC)
    stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.filter(scheduled_for__gt=gone).count() >= 200, 20, "nobody goes on")
    fault.balances(stack, until=gone)


def leave_one_after_another(stack: Stack) -> list[float]:
    """Start some beats, let them work, and tell each to leave at a moment of its own; how long each took."""
    known = set(Node.objects.values_list("pk", flat=True))
    beats = [stack.start_beat() for _ in range(AT_ONCE)]
    stack.wait_until(lambda: Node.objects.exclude(pk__in=known).count() >= AT_ONCE, 40, "the beats did not start")
    count = RoutineRun.objects.count()
    stack.wait_until(lambda: RoutineRun.objects.count() >= count + CLAIMS, 40, "the beats are not busy")
    taken = []
    for beat in beats:
        time.sleep(random.uniform(0.0, 0.3))  # not a wait: the trial is that the signal comes at any moment
        taken.append(leaves(beat))
    return taken


def leaves(beat: Process) -> float:
    began = time.monotonic()
    beat.terminate()
    assert beat.wait(10) == 0, beat.log()
    assert "Traceback" not in beat.log()
    return time.monotonic() - began


def test_fault_40_neither_a_lock_nor_a_frozen_broker_keeps_a_beat(stack: Stack, fault: Fault) -> None:
    """A second after the signal what still runs is cancelled; soon after that the beat is gone whatever happens."""
    service.create_routine("tick", task=NOTE, every="1s")
    waiting, sending = stack.beat(), stack.beat()
    stack.wait_until(lambda: RoutineRun.objects.filter(dispatched_at__isnull=False).count() >= 2, 30, "nothing is sent")

    stack.redis.freeze()
    try:
        unsent = RoutineRun.objects.filter(status="PENDING", dispatched_at=None)
        stack.wait_until(unsent.exists, 20, "nobody has claimed a slot that meets the frozen broker")
        fault.recovered(leaves(sending), 2, "40: told to leave while the broker is frozen")
    finally:
        stack.redis.thaw()

    with transaction.atomic():
        execute("LOCK TABLE routines_routinestate")
        stack.wait_until(lambda: execute(WAITING), 10, "the beat does not wait for the lock")
        fault.recovered(leaves(waiting), 2, "40: told to leave while it waits for a lock")
        assert not execute(WAITING), "its statement still waits"


WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def execute(statement: str) -> bool:
    """Whether it found a row."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.rowcount > 0
