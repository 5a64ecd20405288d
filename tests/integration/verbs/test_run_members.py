"""Members of rotations, and rotations themselves, that somebody runs by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.core.words import MemberStatus, Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Rotation, Routine, RoutineRun
from routines_app.protocol.record.outcome import failed, succeeded
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.protocol.rotate.rows import a_rotation, ended, member, members_of, runs_of, set_member, tick_of

pytestmark = pytest.mark.usefixtures("ledger", "time")

PHASES = [{"name": "plan", "task": NOTE, "args": [1], "kwargs": {"a": 1}}, {"name": "build", "task": "build.it"}]


def test_a_member_runs_its_next_phase_and_goes_on_with_its_cycle(time: Time) -> None:
    rotation = a_rotation(phases=PHASES)
    (routine,) = members_of(rotation, 1, kwargs={"b": 2})
    run = service.run_now(routine, requested_by="ada")
    assert (run.trigger, run.rotation_id, run.phase, run.tick) == (RunTrigger.MANUAL, rotation.pk, "plan", None)
    assert (run.task, run.args, run.kwargs) == (NOTE, [1], {"a": 1, "b": 2})
    assert (member(routine).status, member(routine).run) == (MemberStatus.IN_FLIGHT, run.pk)
    ended(run, succeeded("1"))
    assert (member(routine).status, member(routine).phase) == (MemberStatus.OWED, 1)
    following = service.run_now(routine)
    assert (following.phase, following.task, following.args) == ("build", "build.it", None)


def test_arguments_that_are_given_replace_those_of_the_phase() -> None:
    (routine,) = members_of(a_rotation(phases=PHASES), 1)
    run = service.run_now(routine, args=["mine"])
    assert (run.args, run.kwargs, run.task) == (["mine"], {"a": 1}, NOTE)


def test_it_counts_in_flight_and_the_next_tick_finds_no_room() -> None:
    rotation = a_rotation()
    routines = members_of(rotation, 2)
    service.run_now(routines[0])
    assert tick_of(rotation).reason == Reason.FULL


def test_one_that_a_tick_has_picked_gives_a_skipped_run() -> None:
    rotation = a_rotation()
    (routine,) = members_of(rotation, 1)
    (picked,) = runs_of(tick_of(rotation))
    run = service.run_now(routine)
    assert (run.status, run.reason) == (RunStatus.SKIPPED, Reason.OVERLAP)
    assert member(routine).run == picked.pk


@pytest.mark.parametrize("status", [MemberStatus.FRESH, MemberStatus.FAILED, MemberStatus.LEFT_OUT])
def test_whatever_its_state_it_runs_and_a_paused_one_too(status: MemberStatus) -> None:
    (routine,) = members_of(a_rotation(), 1)
    set_member(routine, status=status, due_at=MONDAY + timedelta(days=1), retry_tick=9)
    Routine.objects.filter(pk=routine.pk).update(status=RoutineStatus.PAUSED)
    run = service.run_now(routine)
    assert (run.status, run.admitted_at) == (RunStatus.PENDING, MONDAY)
    assert (member(routine).status, member(routine).due_at) == (MemberStatus.IN_FLIGHT, None)


def test_the_same_request_that_still_waits_is_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routines_app.protocol.publish.outbox.send", lambda *_, **__: None)
    (routine,) = members_of(a_rotation(phases=PHASES), 1)
    first = service.run_now(routine)
    assert service.run_now(routine).pk == first.pk
    assert service.run_now(routine, args=["other"]).reason == Reason.OVERLAP


def test_a_run_is_run_again_only_while_its_phase_is_the_next_one(time: Time) -> None:
    rotation = a_rotation(phases=PHASES)
    members_of(rotation, 1)
    (run,) = runs_of(tick_of(rotation))
    ended(run, failed(Reason.EXCEPTION, "no"))
    again = service.retry_run(run.pk)
    assert (again.phase, again.args, again.status) == ("plan", [1], RunStatus.PENDING)
    ended(again, succeeded("1"))
    with pytest.raises(NotAllowed, match="its phase was 'plan', and the member's next one is 'build'"):
        service.retry_run(run.pk)


def test_a_rotations_own_routine_ticks_also_while_it_idles() -> None:
    rotation = a_rotation()
    members_of(rotation, 1)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    tick = service.run_now(rotation.routine, requested_by="ada", idempotency_key="once")
    assert (tick.status, tick.reason, tick.trigger) == (RunStatus.SUCCESS, Reason.PICKED, RunTrigger.MANUAL)
    assert service.run_now(rotation.routine, idempotency_key="once").pk == tick.pk
    assert service.retry_run(tick.pk).reason == Reason.FULL
    with pytest.raises(NotAllowed, match="takes no arguments"):
        service.run_now(rotation.routine, args=[1])


def test_what_seeded_is_not_run_again() -> None:
    rotation = a_rotation(seed="shop.feeds")
    tick_of(rotation)
    with pytest.raises(NotAllowed, match="it seeded its rotation"):
        service.retry_run(RoutineRun.objects.get(phase="seed"))


def test_past_ticks_cannot_be_made_up_for(time: Time) -> None:
    rotation = a_rotation()
    time.pass_by(hours=1)
    with pytest.raises(NotAllowed, match="past ticks cannot be made up for"):
        service.backfill(rotation.routine, MONDAY, MONDAY + timedelta(minutes=30))
