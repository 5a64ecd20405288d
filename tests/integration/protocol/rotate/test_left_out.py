"""Members whose routine is not ACTIVE: how they are left out, and who brings them back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import MemberStatus, Reason, RoutineStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.rotate import left_out, member_runs
from routines_app.protocol.rotate.left_out import bring_back, bring_back_free, leave_out_archived
from routines_app.protocol.rotate.promote import FORGOTTEN_EVERY
from tests.integration.conftest import MONDAY, Time
from tests.integration.holding import held, needs_row_locks
from tests.integration.protocol.rotate.rows import a_rotation, member, members_of, runs_of, set_member, tick_of

pytestmark = pytest.mark.usefixtures("ledger", "time")


def idling(rotation: Rotation) -> tuple[int, int]:
    rotation.refresh_from_db()
    return rotation.idle_multiplier, rotation.skip_ticks


def archived_before_one(rotation: Rotation, count: int) -> Routine:
    """The one ACTIVE member, which ranks behind so many that are archived."""
    *gone, last = members_of(rotation, count + 1)
    Routine.objects.filter(pk__in=[routine.pk for routine in gone]).update(status=RoutineStatus.ARCHIVED)
    set_member(last, attempted_at=MONDAY - timedelta(hours=1))
    return last


def left_outs() -> int:
    return RotationMember.objects.filter(status=MemberStatus.LEFT_OUT).count()


def test_many_that_are_not_active_are_left_out_at_once_and_the_one_behind_them_is_picked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_runs, "READ_AT_ONCE", 1)
    rotation = a_rotation()
    last = archived_before_one(rotation, 30)
    assert [run.routine_id for run in runs_of(tick_of(rotation))] == [last.pk]
    assert left_outs() == 30


def test_a_tick_that_only_leaves_members_out_does_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_runs, "READ_AT_ONCE", 1)
    monkeypatch.setattr(left_out, "AT_ONCE", 4)
    rotation = a_rotation()
    last = archived_before_one(rotation, 15)
    assert tick_of(rotation).reason == Reason.IDLE
    assert (idling(rotation), 4 < left_outs() < 15) == ((1, 0), True)
    assert [run.routine_id for run in runs_of(tick_of(rotation))] == [last.pk]


def paused(routine: Routine) -> Routine:
    return service.pause_routine(routine.pk)


def parked(routine: Routine) -> Routine:
    Routine.objects.filter(pk=routine.pk).update(status=RoutineStatus.PARKED)
    return routine


@pytest.mark.parametrize(("stop", "go_on"), [(paused, service.resume_routine), (parked, service.reset_routine)])
def test_who_is_active_again_is_owed_at_once_and_its_rotation_awake(
    stop: Callable[[Routine], Routine], go_on: Callable[[int], Routine]
) -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    stop(routine)
    tick_of(rotation)
    tick_of(rotation)
    assert (member(routine).status, idling(rotation)) == (MemberStatus.LEFT_OUT, (2, 1))
    go_on(routine.pk)
    assert (member(routine).status, idling(rotation)) == (MemberStatus.OWED, (1, 0))
    assert [run.routine_id for run in runs_of(tick_of(rotation))] == [routine.pk]


def test_a_pause_that_runs_out_brings_its_member_back(time: Time) -> None:
    rotation = a_rotation(every="1h")
    (routine,) = members_of(rotation, 1)
    service.pause_routine(routine.pk, until=time.now + timedelta(minutes=30))
    set_member(routine, status=MemberStatus.LEFT_OUT)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    claim_due(time.now + timedelta(minutes=31))
    assert Routine.objects.get(pk=routine.pk).status == RoutineStatus.ACTIVE
    assert (member(routine).status, idling(rotation)) == (MemberStatus.OWED, (1, 0))


def test_a_pause_that_runs_out_at_a_tick_is_seen_by_that_tick(time: Time) -> None:
    """Both are due in one claim, which read the rotation while it idled."""
    rotation = a_rotation(every="30m")
    (routine,) = members_of(rotation, 1)
    due = RoutineState.objects.get(pk=rotation.pk).next_run_at
    assert due is not None
    service.pause_routine(routine.pk, until=due)
    set_member(routine, status=MemberStatus.LEFT_OUT)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    claim_due(due)
    assert (member(routine).status, idling(rotation)) == (MemberStatus.IN_FLIGHT, (1, 0))


@needs_row_locks
@pytest.mark.timeout(60)  # with the making of the database, where it is the first
def test_a_claim_that_brings_back_waits_for_nobody(time: Time) -> None:
    rotation = a_rotation(every="1h")
    first, second = members_of(rotation, 2)
    for routine in (first, second):
        service.pause_routine(routine.pk, until=time.now + timedelta(minutes=30))
        set_member(routine, status=MemberStatus.LEFT_OUT)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    with held("rotationmember", "routine_id", [first.pk]), held("rotation", "routine_id", [rotation.pk]):
        claim_due(time.now + timedelta(minutes=31))
    assert [member(routine).status for routine in (first, second)] == [MemberStatus.LEFT_OUT, MemberStatus.OWED]
    assert set(Routine.objects.filter(rotation=rotation).values_list("status", flat=True)) == {RoutineStatus.ACTIVE}
    assert idling(rotation) == (4, 3)


def test_only_what_was_left_out_comes_back() -> None:
    routines = members_of(a_rotation(), 3)
    set_member(routines[0], status=MemberStatus.FRESH, due_at=MONDAY)
    set_member(routines[1], status=MemberStatus.LEFT_OUT)
    ids = [routine.pk for routine in routines]
    with transaction.atomic():
        assert (bring_back(ids), bring_back(ids), bring_back_free(ids), bring_back([])) == (1, 0, 0, 0)
    assert member(routines[0]).status == MemberStatus.FRESH


def test_the_archived_are_left_out_if_they_are_owed() -> None:
    owed, fresh = members_of(a_rotation(), 2)
    set_member(fresh, status=MemberStatus.FRESH, due_at=MONDAY)
    with transaction.atomic():
        assert leave_out_archived([owed.pk, fresh.pk]) == 1
    assert (member(owed).status, member(fresh).status) == (MemberStatus.LEFT_OUT, MemberStatus.FRESH)


def test_members_that_are_archived_together_are_left_out() -> None:
    rotation = service.create_rotation("feeds", task="tests.tasks.note", allow_unknown_task=True)
    service.add_members(rotation, ["one", "two"], allow_unknown_task=True)
    service.archive_rotation(rotation, members=True)
    assert left_outs() == 2


@pytest.mark.parametrize("multiplier", [1, 2, 4])
def test_who_is_active_again_by_plain_sql_is_found_within_some_ticks(multiplier: int) -> None:
    """Also while the rotation idles, whichever of its ticks look."""
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    set_member(routine, status=MemberStatus.LEFT_OUT)
    Rotation.objects.update(idle_multiplier=multiplier, ticks=1)
    looks = [tick_of(rotation) for _ in range(FORGOTTEN_EVERY + 3)]
    assert [tick.reason for tick in looks].count(Reason.PICKED) == 1


def test_most_ticks_do_not_ask_for_the_routines_of_those_left_out() -> None:
    rotation = a_rotation()
    members_of(rotation, 1)
    RotationMember.objects.update(status=MemberStatus.LEFT_OUT)
    with CaptureQueriesContext(connection) as captured:
        tick_of(rotation)
    assert not [each for each in captured.captured_queries if "LEFT_OUT" in each["sql"]]


def test_a_resume_of_a_routine_without_a_rotation_asks_for_no_member(make: Callable[..., Routine]) -> None:
    routine = make("plain", every="1m")
    service.pause_routine(routine.pk)
    with CaptureQueriesContext(connection) as captured:
        service.resume_routine(routine.pk)
    assert not [each for each in captured.captured_queries if "rotationmember" in each["sql"]]
