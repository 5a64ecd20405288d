"""Fault 1: `kill -9` a beat inside its claim: rolled back; another beat claims within 2 s."""

from __future__ import annotations

from datetime import UTC, datetime

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes, ready_beats
from tests.acceptance.stack import Stack


def test_fault_01_a_beat_killed_inside_its_claim_leaves_the_slots_to_another(stack: Stack, fault: Fault) -> None:
    """What it had written is undone, and the other beat fires the same slots."""
    stack.beat()
    ready_beats(stack, 1)
    doomed = stack.beat(ROUTINES_CRASH_AT="inside-claim:SIGKILL")
    ready_beats(stack, 2)
    # The beats race for every slot; sooner or later the doomed one claims some.
    for number in range(10):
        service.create_routine(f"tick {number}", task=NOTE, interval_ms=1000 + number * 37)
    stack.wait_until(lambda: not doomed.running, 40, "the doomed beat never claimed")
    (crash,) = crashes(stack)
    died = datetime.fromtimestamp(crash["wall"], UTC)
    claimed = [int(key) for key in crash["keys"]]

    def fired_again() -> list[RoutineRun]:
        due = RoutineRun.objects.filter(routine_id__in=claimed, scheduled_for__lte=died, dispatched_at__gt=died)
        found = {run.routine_id: run for run in due.order_by("scheduled_for")}
        return list(found.values()) if len(found) == len(set(claimed)) else []

    fired = stack.wait_until(fired_again, 15, "nobody fired what the killed beat had claimed")

    took = max((run.dispatched_at - died).total_seconds() for run in fired if run.dispatched_at)
    fault.recovered(took, 2, "1: another beat fires what a killed beat had claimed")
    fault.balances(stack, until=died)
