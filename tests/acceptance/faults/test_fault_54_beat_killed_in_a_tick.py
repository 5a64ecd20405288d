"""Fault 54: `kill -9` a beat in the middle of a rotation's tick, or after it: each tick picks once, all is run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.core.words import MemberStatus, RunTrigger
from routines_app.models import Rotation, RotationMember, RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes, ready_beats
from tests.acceptance.stack import Stack

BUDGET = 3


def make_rotation(members: int) -> Rotation:
    rotation = service.create_rotation("feeds", every="1s", budget=BUDGET, max_in_flight=50, fresh_for="1h", task=NOTE)
    service.add_members(rotation, [service.Member(name=f"feed {number}") for number in range(members)])
    return rotation


def all_fresh() -> bool:
    return not RotationMember.objects.exclude(status=MemberStatus.FRESH).exists()


def nothing_is_doubled_and_nothing_lost(rotation: Rotation, members: int) -> None:
    """Each member has run once, and each tick within its budget."""
    fired = RoutineRun.objects.filter(trigger=RunTrigger.ROTATION)
    assert sorted(fired.values_list("routine_id", flat=True)) == sorted(
        RotationMember.objects.values_list("pk", flat=True)
    )
    assert fired.count() == members
    ticks = {run.pk: run for run in RoutineRun.objects.filter(routine_id=rotation.pk)}
    by_tick = [run.tick for run in fired]
    assert all(by_tick.count(tick) == len(ticks[tick].result["picked"]) <= BUDGET for tick in set(by_tick))


@pytest.mark.parametrize("point", ["inside-tick", "before-publish"])
def test_fault_54_a_beat_killed_in_the_middle_of_a_tick_leaves_it_to_another(
    stack: Stack, fault: Fault, point: str
) -> None:
    """Before the commit nothing has happened; after it the rows are the outbox."""
    stack.worker()
    other = stack.beat()
    ready_beats(stack, 1)
    other.freeze()
    doomed = stack.beat(ROUTINES_CRASH_AT=f"{point}:SIGKILL")
    ready_beats(stack, 2)
    rotation = make_rotation(12)
    stack.wait_until(lambda: not doomed.running, 40, "the doomed beat never ticked")
    (crash,) = crashes(stack)
    died = datetime.fromtimestamp(crash["wall"], UTC)
    left = RoutineRun.objects.filter(id__in=crash["keys"]).count()
    assert left == (0 if point == "inside-tick" else BUDGET)
    ticks_before = Rotation.objects.get().ticks

    other.thaw()
    stack.wait_until(lambda: Rotation.objects.get().ticks > ticks_before, 30, "nobody ticked any more")
    began = stack.wait_until(
        lambda: list(RoutineRun.objects.filter(trigger=RunTrigger.ROTATION, started_at__gt=died)[:1]), 30, "nothing ran"
    )
    stack.wait_until(all_fresh, 60, "not all members were run")

    fault.recovered((began[0].started_at - died).total_seconds(), 5, f"54: members go on after a beat died {point}")
    nothing_is_doubled_and_nothing_lost(rotation, 12)
    fault.balances(stack)


def test_fault_55_two_beats_at_one_tick_pick_once(stack: Stack, fault: Fault) -> None:
    """Three beats race for each tick of a rotation for as long as it has something to pick."""
    stack.worker()
    for _ in range(3):
        stack.beat()
    ready_beats(stack, 3)
    rotation = make_rotation(30)
    stack.wait_until(all_fresh, 90, "not all members were run")
    nothing_is_doubled_and_nothing_lost(rotation, 30)
    slots = RoutineRun.objects.filter(routine_id=rotation.pk, rotation=None).values_list("scheduled_for", flat=True)
    assert len(slots) == len(set(slots)) >= 30 // BUDGET
    fault.balances(stack)
