"""Ticks: what a claim does with the slots of a rotation's own routine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app.core.rotation import NEVER
from routines_app.core.words import MemberStatus, Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim import ticks
from routines_app.protocol.claim.claim import claim_due, set_aside
from routines_app.protocol.claim.tick import tick_by_hand
from routines_app.protocol.record.outcome import failed, succeeded
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.protocol.rotate.rows import (
    a_rotation,
    ended,
    idle_of,
    member,
    members_of,
    runs_of,
    set_member,
    tick_of,
)

pytestmark = pytest.mark.usefixtures("ledger", "time")

OK = succeeded("1")


def test_a_tick_picks_the_one_that_waited_longest_and_sends_its_run() -> None:
    rotation = a_rotation()
    routines = members_of(rotation, 3)
    for hours, routine in enumerate(routines):
        set_member(routine, attempted_at=MONDAY - timedelta(hours=hours + 1))
    state = RoutineState.objects.get(pk=rotation.pk)
    assert state.next_slot is not None
    report = claim_due(state.next_slot)
    tick = RoutineRun.objects.get(routine_id=rotation.pk)
    (run,) = runs_of(tick)
    assert (tick.status, tick.reason, tick.trigger) == (RunStatus.SUCCESS, Reason.PICKED, RunTrigger.SCHEDULE)
    assert (tick.started_at, tick.completed_at) == (state.next_slot, state.next_slot)
    assert tick.result["picked"] == [{"routine": routines[2].pk, "name": routines[2].name, "phase": ""}]
    assert (tick.result["owed"], tick.result["in_flight"], tick.result["budget"]) == (3, 0, 1)
    assert (run.routine_id, run.trigger, run.rotation_id) == (routines[2].pk, RunTrigger.ROTATION, rotation.pk)
    assert run.idempotency_key == f"r:{tick.pk}:{run.routine_id}:"
    assert [message.run_id for message in report.messages] == [str(run.pk)]
    assert run.admitted_at is not None
    assert (member(run.routine_id).status, member(run.routine_id).run) == (MemberStatus.IN_FLIGHT, run.pk)
    state.refresh_from_db()
    assert state.last_success_at == state.last_slot == tick.scheduled_for


def test_while_as_many_are_in_flight_as_may_be_a_tick_is_full() -> None:
    rotation = a_rotation(budget=2, max_in_flight=3)
    members_of(rotation, 5)
    assert [len(runs_of(tick_of(rotation))) for _ in range(3)] == [2, 1, 0]
    tick = RoutineRun.objects.filter(routine_id=rotation.pk).latest("id")
    assert (tick.status, tick.reason, tick.result["in_flight"]) == (RunStatus.SKIPPED, Reason.FULL, 3)
    assert idle_of(rotation) == (3, 1, 0)


def test_with_nothing_owed_ticks_are_left_out_twice_as_often_up_to_four_and_a_success_ends_that(time: Time) -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    set_member(routine, status=MemberStatus.FRESH, due_at=MONDAY + timedelta(days=1))
    looked = []
    for _ in range(12):
        tick = tick_of(rotation)
        assert (tick.status, tick.reason) == (RunStatus.SKIPPED, Reason.IDLE)
        looked.append("owed" in tick.result)
    assert looked == [True, False, True, False, False, False, True, False, False, False, True, False]
    assert idle_of(rotation) == (12, 4, 2)
    set_member(routine, status=MemberStatus.OWED, due_at=None)
    RotationMember.objects.update(attempted_at=NEVER)
    assert [tick_of(rotation).reason for _ in range(3)] == [Reason.IDLE, Reason.IDLE, Reason.PICKED]
    ended(RoutineRun.objects.get(routine=routine), OK)
    assert idle_of(rotation) == (15, 1, 0)


def test_what_waited_long_enough_is_owed_again(time: Time) -> None:
    rotation = a_rotation(budget=9, max_in_flight=9)
    over, early, failing, later = members_of(rotation, 4)
    set_member(over, status=MemberStatus.FRESH, due_at=MONDAY)
    set_member(early, status=MemberStatus.FRESH, due_at=MONDAY + timedelta(days=1))
    set_member(failing, status=MemberStatus.FAILED, retry_tick=1, failures=1)
    set_member(later, status=MemberStatus.FAILED, retry_tick=2, failures=1)
    picked = {run.routine_id for run in runs_of(tick_of(rotation))}
    assert picked == {over.pk, failing.pk}
    assert {run.routine_id for run in runs_of(tick_of(rotation))} == {later.pk}


def test_a_member_that_is_not_active_is_left_out_and_the_next_one_picked() -> None:
    rotation = a_rotation()
    routines = members_of(rotation, 40)
    for minutes, routine in enumerate(routines):
        set_member(routine, attempted_at=MONDAY - timedelta(minutes=100 - minutes))
    paused = [routine.pk for routine in routines[:30]]
    Routine.objects.filter(pk__in=paused).update(status=RoutineStatus.PAUSED)
    (run,) = runs_of(tick_of(rotation))
    assert run.routine_id == routines[30].pk
    left_out = RotationMember.objects.filter(status=MemberStatus.LEFT_OUT)
    assert set(left_out.values_list("pk", flat=True)) == set(paused)


def test_a_phase_says_task_and_arguments_and_the_message_does_too() -> None:
    phases = [{"name": "plan", "task": "plan.it", "args": [1], "kwargs": {"deep": True}}, {"name": "do", "task": NOTE}]
    rotation = a_rotation(phases=phases)
    (routine,) = members_of(rotation, 1, args=["a"], kwargs={"b": 2}, queue="slow", timeout_ms=60_000)
    state = RoutineState.objects.get(pk=rotation.pk)
    assert state.next_slot is not None
    (message,) = claim_due(state.next_slot).messages
    run = RoutineRun.objects.get(routine=routine)
    assert (run.task, run.phase, run.args, run.kwargs) == ("plan.it", "plan", [1], {"b": 2, "deep": True})
    assert (run.queue, run.timeout_ms) == ("slow", 60_000)
    assert (message.task, message.queue, message.timeout_ms) == ("plan.it", "slow", 60_000)
    assert "deep" in message.kwargs_json


def test_a_cycle_runs_its_phases_one_after_another_and_finishing_comes_before_starting(time: Time) -> None:
    phases = [{"name": "plan", "task": NOTE}, {"name": "build", "task": NOTE}]
    rotation = a_rotation(phases=phases, fresh_for_ms=3_600_000)
    members_of(rotation, 2)
    done = []
    for _ in range(4):
        (run,) = runs_of(tick_of(rotation))
        done.append((run.routine_id, run.phase))
        time.pass_by(seconds=1)
        ended(run, OK)
    first, second = done[0][0], done[2][0]
    assert done == [(first, "plan"), (first, "build"), (second, "plan"), (second, "build")]
    row = member(first)
    assert (row.status, row.phase, row.cycles) == (MemberStatus.FRESH, 0, 1)
    assert row.due_at == row.stale_since + timedelta(hours=1)


def test_a_failed_phase_waits_for_twice_as_many_ticks_each_time(time: Time) -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1, max_attempts=5)
    picked_at = []
    for number in range(1, 16):
        if fired := runs_of(tick_of(rotation)):
            picked_at.append(number)
            assert ended(fired[0], failed(Reason.EXCEPTION, "no")).status == RunStatus.FAILED
        Rotation.objects.update(skip_ticks=0)
    assert picked_at == [1, 3, 7, 15]
    assert member(routine).failures == 4
    assert not RoutineRun.objects.filter(trigger=RunTrigger.RETRY).exists()


def test_members_of_a_pool_queue_for_room_as_any_run() -> None:
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    rotation = a_rotation(budget=2, max_in_flight=2)
    members_of(rotation, 2, pool=pool)
    state = RoutineState.objects.get(pk=rotation.pk)
    assert state.next_slot is not None
    report = claim_due(state.next_slot)
    assert (report.pooled, report.messages) == (True, [])
    runs = RoutineRun.objects.filter(pool=pool)
    assert [(run.reason, run.admitted_at) for run in runs] == [(Reason.CEILING, None)] * 2
    assert RoutineRun.objects.get(routine_id=rotation.pk).pool_id is None


def test_members_without_a_pool_belong_to_the_default_pool_and_ticks_to_none() -> None:
    pool = Pool.objects.create(name="all", max_concurrent=5, is_default=True)
    rotation = a_rotation()
    members_of(rotation, 1)
    tick = tick_of(rotation)
    assert (tick.pool_id, tick.reason) == (None, Reason.PICKED)
    assert runs_of(tick)[0].pool_id == pool.pk


def test_a_run_that_a_pause_holds_back_does_not_count_as_in_flight() -> None:
    rotation = a_rotation()
    members_of(rotation, 2)
    (run,) = runs_of(tick_of(rotation))
    Routine.objects.filter(pk=run.routine_id).update(status=RoutineStatus.PAUSED)
    assert [other.routine_id != run.routine_id for other in runs_of(tick_of(rotation))] == [True]


def test_a_slot_that_had_its_row_is_no_tick_again() -> None:
    """A state that plain SQL has set back, or a restored one: the key keeps it apart."""
    rotation = a_rotation()
    members_of(rotation, 2)
    before = RoutineState.objects.filter(pk=rotation.pk).values("last_slot", "next_slot", "next_run_at").get()
    tick_of(rotation)
    RoutineState.objects.filter(pk=rotation.pk).update(**before)
    tick_of(rotation)
    assert RoutineRun.objects.filter(trigger=RunTrigger.ROTATION).count() == 1
    assert idle_of(rotation)[0] == 1


def test_a_rotation_that_is_gone_parks_its_routine_with_the_reason() -> None:
    rotation = a_rotation()
    routine_id = rotation.pk
    next_slot = RoutineState.objects.get(pk=routine_id).next_slot
    Rotation.objects.all().delete()
    assert next_slot is not None
    claim_due(next_slot)
    routine = Routine.objects.get(pk=routine_id)
    assert (routine.status, "its rotation is gone" in routine.pause_reason) == (RoutineStatus.PARKED, True)


def test_many_rotations_that_are_due_at_once_are_done_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "AT_ONCE", 2)
    rotations = [a_rotation(f"r{number}") for number in range(5)]
    reports = [claim_due(MONDAY + timedelta(minutes=1)) for _ in range(3)]
    assert [(report.claimed, report.left) for report in reports] == [(2, True), (2, True), (1, False)]
    assert all(idle_of(rotation)[0] == 1 for rotation in rotations)


def test_a_tick_costs_as_many_statements_with_two_thousand_fresh_members_as_with_ten(measured_clock: None) -> None:
    few, many = a_rotation("few", policies={"start_at": MONDAY}), a_rotation("many")
    for rotation, count in ((few, 10), (many, 2_000)):
        members_of(rotation, count)
        RotationMember.objects.filter(rotation=rotation).update(
            status=MemberStatus.FRESH, due_at=MONDAY + timedelta(days=1)
        )
        members_of(rotation, 2, prefix="owed")
    counts = []
    for rotation in (few, many):
        RoutineState.objects.exclude(pk=rotation.pk).filter(next_run_at__isnull=False).update(
            next_run_at=MONDAY + timedelta(days=1)
        )
        RoutineState.objects.filter(pk=rotation.pk).update(next_run_at=MONDAY + timedelta(minutes=1))
        with CaptureQueriesContext(connection) as captured:
            report = claim_due(MONDAY + timedelta(minutes=1))
        assert len(report.messages) == 1
        counts.append(len(captured))
    assert counts[0] == counts[1] < 40


def test_a_claim_without_a_tick_costs_no_statement_more(make: Callable[..., Routine], measured_clock: None) -> None:
    """Against the count before there were rotations: what a claim of one slot takes on this database."""
    make("plain", every="1m")
    with CaptureQueriesContext(connection) as captured:
        assert claim_due(MONDAY + timedelta(minutes=1)).fired == 1
    assert not [each for each in captured.captured_queries if "rotation" in each["sql"].replace("rotation_id", "")]


def test_a_tick_by_hand_looks_also_while_the_rotation_idles_and_leaves_the_idling_alone(unsent: list[str]) -> None:
    rotation = a_rotation()
    members_of(rotation, 1)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    state = RoutineState.objects.get(pk=rotation.pk)
    with transaction.atomic():
        run = tick_by_hand(rotation.routine, state, "ada", MONDAY)
    assert (run.status, run.reason, run.trigger) == (RunStatus.SUCCESS, Reason.PICKED, RunTrigger.MANUAL)
    assert unsent == [str(fired.pk) for fired in runs_of(run)] != []
    assert (run.requested_by, run.idempotency_key.startswith("m:")) == ("ada", True)
    assert idle_of(rotation) == (1, 4, 3)
    with transaction.atomic():
        assert tick_by_hand(rotation.routine, state, "ada", MONDAY).reason == Reason.FULL
    assert idle_of(rotation) == (2, 4, 3)


def test_where_there_is_something_to_seed_by_each_look_sends_one_that_seeds_unless_one_is_under_way() -> None:
    rotation = a_rotation(seed="shop.feeds")
    members_of(rotation, 1)
    tick = tick_of(rotation)
    seeding = RoutineRun.objects.get(routine_id=rotation.pk, phase="seed")
    assert (seeding.trigger, seeding.tick, seeding.rotation_id) == (RunTrigger.ROTATION, tick.pk, rotation.pk)
    assert seeding.idempotency_key == f"r:{tick.pk}:{rotation.pk}:seed"
    assert tick.result["seeding"] == str(seeding.pk)
    assert tick_of(rotation).result["seeding"] == "still running"
    ended(seeding, failed(Reason.EXCEPTION, "no"))
    state = RoutineState.objects.get(pk=rotation.pk)
    assert (state.failure_count, Routine.objects.get(pk=rotation.pk).status) == (0, RoutineStatus.ACTIVE)
    assert tick_of(rotation).result["seeding"] not in (None, "still running", str(seeding.pk))


def test_nothing_is_set_aside_after_all_that() -> None:
    assert not set_aside.ids
