"""Ticks that meet others at the same moment: each tick picks once, nobody is in flight twice, and nobody waits."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from routines_app import service
from routines_app.core.words import MemberStatus, Reason, RunStatus, RunTrigger
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due, set_aside
from routines_app.protocol.end.finish import finish
from routines_app.protocol.record.outcome import succeeded
from routines_app.protocol.rotate.members import lock_members
from tests.integration.conftest import MONDAY
from tests.integration.holding import held, needs_row_locks
from tests.integration.protocol.rotate.rows import a_rotation, begun, member, members_of, runs_of, set_member, tick_of
from tests.integration.races.test_verbs import at_once

pytestmark = pytest.mark.usefixtures("ledger", "time")


def next_slot(rotation: Rotation) -> datetime:
    slot = RoutineState.objects.get(pk=rotation.pk).next_slot
    assert slot is not None
    return slot


def test_of_three_beats_at_one_tick_one_picks() -> None:
    rotation = a_rotation(budget=5, max_in_flight=100)
    members_of(rotation, 30)
    for number in range(1, 4):
        at_once(*[partial(claim_due, next_slot(rotation))] * 3)
        assert RoutineRun.objects.filter(routine_id=rotation.pk).count() == number
        assert RoutineRun.objects.filter(trigger=RunTrigger.ROTATION).count() == 5 * number
    runs = RoutineRun.objects.filter(trigger=RunTrigger.ROTATION).values_list("routine_id", flat=True)
    assert len(set(runs)) == 15
    assert Rotation.objects.get().ticks == 3


def test_a_tick_and_requests_by_hand_fly_each_member_once() -> None:
    rotation = a_rotation(budget=4, max_in_flight=100)
    routines = members_of(rotation, 4)
    by_hand = [partial(service.run_now, routine.pk) for routine in routines[:3]]
    at_once(partial(claim_due, next_slot(rotation)), *by_hand)
    active = RoutineRun.objects.filter(status=RunStatus.PENDING)
    assert sorted(active.values_list("routine_id", flat=True)) <= [routine.pk for routine in routines]
    assert active.count() == active.values("routine_id").distinct().count()
    flying = RotationMember.objects.filter(status=MemberStatus.IN_FLIGHT)
    assert {(row.pk, row.run) for row in flying} == {(run.routine_id, run.pk) for run in active}


def test_ends_and_a_tick_leave_nobody_in_flight_without_a_run() -> None:
    rotation = a_rotation(budget=6, max_in_flight=100, fresh_for_ms=0)
    members_of(rotation, 6)
    facts = [begun(run) for run in runs_of(tick_of(rotation))]
    ends = [partial(finish, each, succeeded("1")) for each in facts]
    at_once(partial(claim_due, next_slot(rotation)), *ends)
    for row in RotationMember.objects.all():
        active = RoutineRun.objects.filter(routine_id=row.pk, status__in=["PENDING", "RUNNING"])
        assert active.count() == (row.status == MemberStatus.IN_FLIGHT)
        assert row.run in {None, *active.values_list("pk", flat=True)}


@needs_row_locks
def test_a_rotation_whose_row_somebody_holds_is_tried_by_itself_and_the_others_tick() -> None:
    rotation, other = a_rotation(), a_rotation("shops")
    for each in (rotation, other):
        members_of(each, 1)
    slot = next_slot(rotation)
    try:
        with held("rotation", "routine_id", [rotation.pk]):
            claim_due(slot)
            assert set_aside.ids == [rotation.pk]
            assert list(RoutineRun.objects.filter(rotation=None).values_list("routine_id", flat=True)) == [other.pk]
        while set_aside.ids:
            claim_due(slot)
    finally:
        set_aside.over([rotation.pk])
    assert RoutineRun.objects.get(routine_id=rotation.pk).reason == Reason.PICKED


@needs_row_locks
@pytest.mark.parametrize("what", ["member", "state", "routine", "pool"])
def test_in_the_place_of_a_member_of_which_somebody_holds_a_row_goes_the_next(what: str) -> None:
    rotation = a_rotation()
    first, second = members_of(rotation, 2)
    pool = Pool.objects.create(name="own", max_concurrent=1)
    Routine.objects.filter(pk=first.pk).update(pool=pool)
    set_member(second, attempted_at=MONDAY - timedelta(hours=1))
    rows = {
        "member": ("rotationmember", "routine_id", first.pk),
        "state": ("routinestate", "routine_id", first.pk),
        "routine": ("routine", "id", first.pk),
        "pool": ("pool", "id", pool.pk),
    }
    table, column, value = rows[what]
    with held(table, column, [value]):
        tick = tick_of(rotation)
    assert [run.routine_id for run in runs_of(tick)] == [second.pk]
    assert member(first).status == MemberStatus.OWED


@needs_row_locks
def test_a_tick_that_finds_everybody_held_does_not_idle() -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    with held("rotationmember", "routine_id", [routine.pk]):
        assert tick_of(rotation).reason == Reason.IDLE
    rotation.refresh_from_db()
    assert (rotation.idle_multiplier, rotation.skip_ticks) == (1, 0)


@needs_row_locks
@pytest.mark.timeout(30)
def test_a_tick_and_an_end_that_wants_its_rotation_do_not_wait_for_each_other() -> None:
    """The end has its member's row and wakes the rotation; the tick has the rotation and leaves that member out."""
    rotation = a_rotation(budget=2, max_in_flight=9)
    routines = members_of(rotation, 2)
    has_member, may_wake = threading.Event(), threading.Event()

    def end() -> None:
        with transaction.atomic():
            lock_members([routines[0].pk])
            has_member.set()
            may_wake.wait(20)
            Rotation.objects.filter(pk=rotation.pk).update(idle_multiplier=1)

    def tick() -> Any:
        has_member.wait(20)
        try:
            return claim_due(next_slot(rotation))
        finally:
            may_wake.set()

    outcomes: list[Any] = at_once(end, tick)
    assert outcomes[0] is None
    assert [message.routine for message in outcomes[1].messages] == [routines[1].name]
