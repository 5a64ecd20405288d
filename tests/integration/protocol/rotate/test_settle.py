"""What the end of a run makes of a member, in whichever way it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import MemberStatus, Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import RotationMember, Routine, RoutineRun, RoutineState
from routines_app.protocol.end.finish import close_run, finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.outcome import cancelled, failed, succeeded
from routines_app.protocol.rotate import enrol as enrolment
from routines_app.protocol.rotate import settle, touch
from routines_app.protocol.rotate.enrol import enrol
from routines_app.protocol.run.start import Expired, start
from routines_app.protocol.upkeep.orphans import Observer
from routines_app.protocol.upkeep.reconcile import reconcile_once
from routines_app.protocol.upkeep.unsettled import settle_forgotten
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.protocol.rotate.rows import (
    a_rotation,
    begun,
    ended,
    member,
    members_of,
    runs_of,
    set_member,
    tick_of,
)
from tests.integration.verbs.rows import waiting_run

pytestmark = pytest.mark.usefixtures("ledger", "time")

PLAN_BUILD = [{"name": "plan", "task": NOTE}, {"name": "build", "task": NOTE}]
NO = failed(Reason.EXCEPTION, "no")


@pytest.fixture
def picked() -> RoutineRun:
    """A run that a tick has fired, of a member that is a minute old."""
    rotation = a_rotation(phases=PLAN_BUILD)
    members_of(rotation, 1)
    return runs_of(tick_of(rotation))[0]


def of(run: RoutineRun) -> RotationMember:
    return member(run.routine_id)


def standing(run: RoutineRun) -> tuple[str, int, int]:
    row = of(run)
    return row.status, row.phase, row.failures


def test_a_success_goes_on_with_the_next_phase(picked: RoutineRun, time: Time) -> None:
    set_member(picked.routine, failures=3)
    time.pass_by(minutes=2)
    ended(picked, succeeded("1"))
    assert standing(picked) == (MemberStatus.OWED, 1, 0)
    assert (of(picked).attempted_at, of(picked).run, of(picked).cycles) == (time.now, None, 0)


def test_a_failure_waits_for_its_ticks_and_stays_in_its_phase(picked: RoutineRun, time: Time) -> None:
    set_member(picked.routine, failures=1)
    ended(picked, NO)
    assert (*standing(picked), of(picked).retry_tick) == (MemberStatus.FAILED, 0, 2, 1 + 4)
    assert RoutineState.objects.get(pk=picked.routine_id).failure_count == 1


def test_what_is_cancelled_while_it_waits_is_owed_behind_the_others(picked: RoutineRun, time: Time) -> None:
    time.pass_by(minutes=2)
    service.cancel_run(picked.pk)
    assert standing(picked) == (MemberStatus.OWED, 0, 0)
    assert of(picked).attempted_at == time.now


def test_what_is_cancelled_while_it_runs_is_settled_by_its_end(picked: RoutineRun) -> None:
    facts = begun(picked)
    service.cancel_run(picked.pk)
    assert of(picked).status == MemberStatus.IN_FLIGHT
    finish(facts, cancelled(Reason.CANCELLED))
    assert standing(picked) == (MemberStatus.OWED, 0, 0)


def test_an_interrupted_run_goes_on_and_its_rows_say_what_it_is_of(picked: RoutineRun) -> None:
    finish(begun(picked), cancelled(Reason.INTERRUPTED))
    following = RoutineRun.objects.get(chain=picked.pk)
    assert (following.rotation_id, following.phase, following.tick) == (picked.rotation_id, "plan", picked.tick)
    assert following.idempotency_key == f"{picked.idempotency_key}:2"
    assert (of(picked).status, of(picked).run) == (MemberStatus.IN_FLIGHT, picked.pk)
    ended(following, succeeded("1"))
    assert standing(picked) == (MemberStatus.OWED, 1, 0)


def test_a_chain_that_a_stop_ends_instead_of_going_on_is_settled(picked: RoutineRun) -> None:
    facts = begun(picked)
    with transaction.atomic():
        request_stop([picked.pk], Reason.CANCELLED, MONDAY)
    finish(facts, cancelled(Reason.INTERRUPTED))
    assert not RoutineRun.objects.filter(chain=picked.pk).exists()
    assert standing(picked) == (MemberStatus.OWED, 0, 0)


def test_an_abandoned_and_an_orphaned_run_have_failed(picked: RoutineRun) -> None:
    begun(picked)
    close_run(picked.pk, failed(Reason.ORPHANED, "silent", asked_delay_ms=0))
    assert standing(picked) == (MemberStatus.FAILED, 0, 1)
    assert not RoutineRun.objects.filter(trigger=RunTrigger.RETRY).exists()


def test_one_that_expired_at_its_start_waits_as_after_a_failure(picked: RoutineRun, time: Time) -> None:
    Routine.objects.filter(pk=picked.routine_id).update(expires_ms=1_000)
    time.pass_by(hours=1)
    assert isinstance(start(picked.pk, "w", exclusive=True, lease=False), Expired)
    assert standing(picked) == (MemberStatus.FAILED, 0, 1)


def test_one_that_expired_in_the_outbox_waits_as_after_a_failure(picked: RoutineRun, time: Time) -> None:
    Routine.objects.filter(pk=picked.routine_id).update(expires_ms=1_000)
    assert dispatch_waiting(time.pass_by(hours=1)) == []
    assert standing(picked) == (MemberStatus.FAILED, 0, 1)


def test_an_archived_members_run_is_cancelled_and_the_next_tick_leaves_it_out(picked: RoutineRun) -> None:
    service.archive_routine(picked.routine)
    assert standing(picked) == (MemberStatus.OWED, 0, 0)
    assert of(picked).rotation is not None
    tick = tick_of(of(picked).rotation)
    assert (tick.reason, of(picked).status) == (Reason.IDLE, MemberStatus.LEFT_OUT)


def test_runs_settle_while_their_rotation_is_paused_or_archived(picked: RoutineRun) -> None:
    service.pause_routine(picked.rotation_id)
    ended(picked, succeeded("1"))
    assert standing(picked) == (MemberStatus.OWED, 1, 0)


def test_phases_that_changed_under_way_are_counted_as_they_are_now(picked: RoutineRun) -> None:
    more = [{"name": "look", "task": NOTE}, *PLAN_BUILD]
    Routine.objects.filter(pk=picked.routine_id).update(phases=more)
    ended(picked, succeeded("1"))
    assert standing(picked) == (MemberStatus.OWED, 2, 0)


def test_a_phase_that_is_none_any_more_begins_the_cycle_anew(picked: RoutineRun) -> None:
    set_member(picked.routine, phase=1)
    Routine.objects.filter(pk=picked.routine_id).update(phases=[{"name": "other", "task": NOTE}])
    ended(picked, succeeded("1"))
    assert standing(picked) == (MemberStatus.OWED, 0, 0)
    assert of(picked).cycles == 0


def test_a_member_that_moved_to_another_rotation_is_settled_there(picked: RoutineRun, time: Time) -> None:
    other = a_rotation("shops", fresh_for_ms=1_000)
    Routine.objects.filter(pk=picked.routine_id).update(rotation=other)
    with transaction.atomic():
        enrol([picked.routine_id], MONDAY)
    ended(picked, succeeded("1"))
    assert (of(picked).rotation_id, of(picked).status) == (other.pk, MemberStatus.OWED)


def test_the_end_of_one_that_is_no_member_any_more_is_just_its_end(picked: RoutineRun) -> None:
    Routine.objects.filter(pk=picked.routine_id).update(rotation=None)
    with transaction.atomic():
        enrol([picked.routine_id], MONDAY)
    assert ended(picked, NO).status == RunStatus.FAILED


def test_another_chain_of_the_routine_settles_nothing(picked: RoutineRun) -> None:
    with transaction.atomic():
        assert settle.settle([picked.routine_id], MONDAY) == 0
    assert of(picked).run == picked.pk


def test_a_member_whose_failures_park_its_routine_is_left_out(time: Time) -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1, park_after=1)
    ended(runs_of(tick_of(rotation))[0], NO)
    assert Routine.objects.get(pk=routine.pk).status == RoutineStatus.PARKED
    set_member(routine, status=MemberStatus.OWED, retry_tick=None)
    tick_of(rotation)
    assert member(routine).status == MemberStatus.LEFT_OUT


def test_an_end_that_nobody_settled_is_found(picked: RoutineRun, monkeypatch: pytest.MonkeyPatch, time: Time) -> None:
    """Its worker died between the end and the settling."""
    facts = begun(picked)
    with monkeypatch.context() as dying:
        dying.setattr("routines_app.protocol.end.finish.settle_ended", lambda *_: 0)
        dying.setattr("routines_app.protocol.end.transaction.settle_ended", lambda *_: 0)
        finish(facts, succeeded("1"))
    assert of(picked).status == MemberStatus.IN_FLIGHT
    assert reconcile_once(time.now, Observer(), 0.0).continued == 1
    assert standing(picked) == (MemberStatus.OWED, 1, 0)
    assert settle_forgotten(time.now) == 0


def test_a_chain_whose_rows_are_gone_is_owed_again(picked: RoutineRun, time: Time) -> None:
    RoutineRun.objects.filter(pk=picked.pk).delete()
    assert settle_forgotten(time.now) == 1
    assert standing(picked) == (MemberStatus.OWED, 0, 0)


def test_a_run_from_before_it_was_a_member_is_no_attempt_of_the_cycle(time: Time) -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    other = waiting_run(routine, 1)
    tick_of(rotation)
    assert (member(routine).status, settle_forgotten(time.now)) == (MemberStatus.IN_FLIGHT, 0)
    ended(other, succeeded("1"))
    assert settle_forgotten(time.now) == 1
    assert (member(routine).status, member(routine).cycles) == (MemberStatus.OWED, 0)


def test_what_is_under_way_is_not_found(picked: RoutineRun, time: Time) -> None:
    begun(picked)
    assert settle_forgotten(time.now + timedelta(days=1)) == 0


def test_an_end_that_belongs_to_no_rotation_asks_for_none(make: Callable[..., Routine], measured_clock: None) -> None:
    facts = begun(waiting_run(make(concurrency_policy="FORBID"), 1))
    with CaptureQueriesContext(connection) as captured:
        finish(facts, NO)
    assert not [each["sql"] for each in captured.captured_queries if "rotationmember" in each["sql"]]


@pytest.mark.parametrize("act", ["settle", "touch", "enrol"])
def test_a_rotation_is_woken_once_after_the_last_members_lock(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the rotation and then waits for a member meets an end that has the member and wants the rotation."""
    for module in (settle, touch, enrolment):
        monkeypatch.setattr(module, "AT_ONCE", 2)
    rotation = a_rotation(budget=5, max_in_flight=5, idle_multiplier=4)
    routines = members_of(rotation, 5)
    ids = [routine.pk for routine in routines]
    if act == "settle":
        runs_of(tick_of(rotation))
        RoutineRun.objects.filter(pk__in=RotationMember.objects.values("run")).update(
            status=RunStatus.SUCCESS, admitted_at=MONDAY, started_at=MONDAY, completed_at=MONDAY, publish_after=None
        )
    RotationMember.objects.exclude(status=MemberStatus.IN_FLIGHT).update(status=MemberStatus.FRESH, due_at=MONDAY)
    if act == "enrol":
        RotationMember.objects.all().delete()
    type(rotation).objects.update(idle_multiplier=4, skip_ticks=3)
    acts = {"settle": settle.settle, "touch": touch.touch_members, "enrol": enrolment.enrol}
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        acts[act](ids, MONDAY)
    wakes = [bool(re.match(r'UPDATE .routines_rotation[`"]', each["sql"])) for each in captured.captured_queries]
    members_after = [each["sql"] for each in captured.captured_queries[wakes.index(True) + 1 :]]
    assert wakes.count(True) == 1
    assert not [sql for sql in members_after if "rotationmember" in sql]
    rotation.refresh_from_db()
    assert (rotation.idle_multiplier, rotation.skip_ticks) == (1, 0)
