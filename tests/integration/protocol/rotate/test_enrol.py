"""Who has a member's row, and what it copies."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app.core.rotation import NEVER
from routines_app.core.words import MemberStatus, Priority
from routines_app.models import Rotation, RotationMember, Routine, new_run_id
from routines_app.protocol.rotate.enrol import enrol
from routines_app.protocol.rotate.touch import touch_members
from tests.integration.conftest import MONDAY
from tests.integration.protocol.rotate.rows import a_rotation, member, members_of, set_member

pytestmark = pytest.mark.django_db

LATER = MONDAY + timedelta(hours=1)


def test_a_new_member_is_owed_and_ranks_by_its_routine() -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1, priority=Priority.HIGH, depth=3, emphasis=2.5)
    row = member(routine)
    assert (row.rotation_id, row.status, row.phase, row.attempted_at) == (rotation.pk, MemberStatus.OWED, 0, NEVER)
    assert (row.band, row.depth, row.emphasis, row.stale_since) == (0, 3, 2.5, MONDAY)


def test_what_rank_asks_for_follows_the_routine_and_nothing_else_changes() -> None:
    (routine,) = members_of(a_rotation(), 1)
    set_member(routine, status=MemberStatus.FRESH, due_at=LATER, cycles=4, attempted_at=MONDAY)
    Routine.objects.filter(pk=routine.pk).update(priority=Priority.LOW, depth=2, emphasis=0.25)
    enrol([routine.pk], LATER)
    row = member(routine)
    assert (row.band, row.depth, row.emphasis) == (2, 2, 0.25)
    assert (row.status, row.due_at, row.cycles, row.stale_since) == (MemberStatus.FRESH, LATER, 4, MONDAY)


def test_who_names_another_rotation_begins_anew_there() -> None:
    (routine,) = members_of(a_rotation(), 1)
    other = a_rotation("shops")
    set_member(routine, status=MemberStatus.FAILED, retry_tick=9, phase=2, failures=3)
    Routine.objects.filter(pk=routine.pk).update(rotation=other)
    enrol([routine.pk], LATER)
    row = member(routine)
    assert (row.rotation_id, row.status, row.phase) == (other.pk, MemberStatus.OWED, 0)
    assert (row.failures, row.retry_tick, row.stale_since) == (0, None, LATER)


def test_who_moves_while_in_flight_stays_in_flight() -> None:
    (routine,) = members_of(a_rotation(), 1)
    other, run = a_rotation("shops"), new_run_id()
    set_member(routine, status=MemberStatus.IN_FLIGHT, run=run)
    Routine.objects.filter(pk=routine.pk).update(rotation=other)
    enrol([routine.pk], LATER)
    assert (member(routine).rotation_id, member(routine).status, member(routine).run) == (
        other.pk,
        MemberStatus.IN_FLIGHT,
        run,
    )


def test_who_names_none_has_no_row() -> None:
    routines = members_of(a_rotation(), 2)
    Routine.objects.filter(pk=routines[0].pk).update(rotation=None)
    enrol([routine.pk for routine in routines], LATER)
    assert list(RotationMember.objects.values_list("pk", flat=True)) == [routines[1].pk]


def test_statements_count_by_batches_and_not_by_members() -> None:
    rotation = a_rotation()
    few, many = members_of(rotation, 5, "few"), members_of(rotation, 600, "many")
    RotationMember.objects.all().delete()
    with CaptureQueriesContext(connection) as for_few:
        enrol([routine.pk for routine in few], LATER)
    with CaptureQueriesContext(connection) as for_many:
        enrol([routine.pk for routine in many], LATER)
    batches = 1 if connection.vendor != "sqlite" else 30
    assert len(for_many) <= len(for_few) + batches
    assert RotationMember.objects.count() == 605


def test_a_new_member_and_a_touched_one_wake_a_rotation_that_idles() -> None:
    rotation = a_rotation()
    idle = {"idle_multiplier": 4, "skip_ticks": 3}
    Rotation.objects.update(**idle)
    (routine,) = members_of(rotation, 1)
    rotation.refresh_from_db()
    assert (rotation.idle_multiplier, rotation.skip_ticks) == (1, 0)
    Rotation.objects.update(**idle)
    set_member(routine, status=MemberStatus.FRESH, due_at=LATER)
    assert touch_members([routine.pk], MONDAY) == 1
    rotation.refresh_from_db()
    assert (rotation.idle_multiplier, rotation.skip_ticks) == (1, 0)


def test_touched_members_are_owed_but_for_those_in_flight_or_left_out() -> None:
    fresh, failed, owed, flying, left_out = members_of(a_rotation(), 5)
    set_member(fresh, status=MemberStatus.FRESH, due_at=LATER)
    set_member(failed, status=MemberStatus.FAILED, retry_tick=7, failures=2, phase=1)
    set_member(flying, status=MemberStatus.IN_FLIGHT, run=new_run_id())
    set_member(left_out, status=MemberStatus.LEFT_OUT)
    routines = (fresh, failed, owed, flying, left_out)
    assert touch_members([routine.pk for routine in routines], MONDAY) == 2
    found = [MemberStatus(member(routine).status) for routine in routines]
    assert found == [MemberStatus.OWED] * 3 + [MemberStatus.IN_FLIGHT, MemberStatus.LEFT_OUT]
    assert (member(failed).phase, member(failed).failures, member(failed).retry_tick) == (1, 2, None)
