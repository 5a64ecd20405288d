"""Hints while a beat is at work: each does what it says for as long as it says, and is gone then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus, RunTrigger, Source
from routines_app.models import ChangeKind, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.upkeep.reconcile import continue_forgotten
from tests.integration.conftest import Hours

FIRED = [status for status in RunStatus if status != RunStatus.SKIPPED]


def fired(hours: Hours) -> list[float]:
    """Minutes after the full hour at which the test began, of all slots that fired."""
    began = hours.began.replace(second=0)
    slots = (
        RoutineRun.objects.filter(status__in=FIRED).order_by("scheduled_for").values_list("scheduled_for", flat=True)
    )
    return [(slot - began) / timedelta(minutes=1) for slot in slots]


def at(hours: Hours, minutes: float) -> datetime:
    return hours.began.replace(second=0) + timedelta(minutes=minutes)


def test_an_expired_interval_does_not_come_back_with_a_later_one_shot(hours: Hours) -> None:
    """One extra fire is asked for, and one comes."""
    hours.make(cron="0 * * * *")
    service.propose_interval("report", "1m", ttl="5m")
    hours.pass_by(minutes=10, every=5)
    service.propose_next_time("report", at(hours, 30), ttl="2h")
    hours.pass_by(minutes=80, every=5)

    assert [minute for minute in fired(hours) if minute > 6] == [30, 60]
    (state,) = RoutineState.objects.all()
    assert state.fresh_hints(hours.began) == []
    assert hours.found() == []


def test_the_lower_clamp_binds_one_shots(hours: Hours) -> None:
    """Four are asked for within seconds; the first slot that is far enough away serves for them."""
    hours.make(cron="*/10 * * * *", min_interval_ms=600_000)
    hours.pass_by(minutes=11)
    for _ in range(4):
        service.propose_next_time("report", hours.now)
        hours.pass_by(seconds=5, every=1)
    hours.pass_by(minutes=12)

    assert fired(hours) == [10, 20]
    assert hours.found() == []


def test_after_a_one_shot_the_clamp_goes_on_with_the_schedules_own_slots(hours: Hours) -> None:
    """10:07 and then 10:20, 10:30 …: not 10:17, 10:27 … for ever."""
    hours.make(cron="*/10 * * * *", min_interval_ms=600_000)
    service.propose_next_time("report", at(hours, 7))
    hours.pass_by(minutes=45)

    assert fired(hours) == [7, 20, 30, 40]
    (skipped,) = RoutineRun.objects.filter(status=RunStatus.SKIPPED)
    assert (skipped.scheduled_for, skipped.reason) == (at(hours, 10), Reason.SUPERSEDED)
    assert hours.found() == []


def test_a_slow_hint_ends_with_its_ttl(hours: Hours) -> None:
    """Every six hours, for one hour: the first slot after that hour fires, and the history says what holds again."""
    hours.make(cron="0 * * * *")
    hours.pass_by(minutes=61)
    service.propose_interval("report", "6h", ttl="90m")
    hours.pass_by(minutes=180)

    assert fired(hours) == [60, 120, 180, 240], "the slot that was planned stays, the next one is after the ttl"
    ended = ScheduleChange.objects.get(kind=ChangeKind.HINT_EXPIRED)
    assert (ended.actor, ended.before["hint_interval_ms"], ended.after) == (
        "beat",
        21_600_000,
        {"next_source": "baseline-cron"},
    )
    assert hours.found() == []


def test_an_expired_one_shot_does_not_fire(hours: Hours) -> None:
    """Nobody looked for seven hours: it is in the ledger, and the schedule goes on as if it had not been."""
    hours.make(cron="0 0 1 1 *")
    service.propose_next_time("report", at(hours, 30))
    hours.pass_by(hours=7, beat=False)
    hours.pass_by(minutes=1)

    (run,) = RoutineRun.objects.all()
    assert (run.status, run.reason, run.trigger, run.source) == (
        RunStatus.SKIPPED,
        Reason.EXPIRED,
        RunTrigger.HINT,
        Source.HINT_ONESHOT,
    )
    assert ScheduleChange.objects.filter(kind=ChangeKind.HINT_EXPIRED).count() == 1
    assert hours.found() == []


def test_a_one_shot_that_is_late_and_not_expired_fires(hours: Hours) -> None:
    """Half an hour after its time it still does."""
    hours.make()
    service.propose_next_time("report", at(hours, 30))
    hours.pass_by(minutes=55, beat=False)
    hours.pass_by(minutes=1)
    assert fired(hours) == [30]
    assert RoutineState.objects.get().hint_next_at is None


def test_an_expired_one_shot_on_a_slot_of_the_schedule_leaves_the_slot_to_it(hours: Hours) -> None:
    """It is judged like any other that was missed."""
    hours.make(cron="0 * * * *", catch_up_policy="LAST")
    service.propose_next_time("report", at(hours, 60))
    hours.pass_by(minutes=100, beat=False)
    hours.pass_by(minutes=1)

    (run,) = RoutineRun.objects.all()
    assert (run.scheduled_for, run.trigger, run.source) == (at(hours, 60), RunTrigger.CATCH_UP, Source.BASELINE_CRON)
    assert RoutineState.objects.get().hint_next_at is None
    assert hours.found() == []


@pytest.mark.parametrize(("policy", "caught_up"), [("SKIP", []), ("LAST", [240]), ("ALL", [5, 120, 180, 240])])
def test_slots_that_were_missed_after_an_expired_hint_are_caught_up(
    hours: Hours, policy: str, caught_up: list[float]
) -> None:
    """The hint ended while nobody looked: the schedule's slots from then on are owed, those of its life are not."""
    hours.make(cron="0 * * * *", catch_up_policy=policy, misfire_grace_ms=60_000)
    service.propose_interval("report", "5m", ttl="100m")
    began = hours.now
    hours.pass_by(hours=4, minutes=30, beat=False)
    for _ in range(8):
        hours.pass_by(seconds=10)
        RoutineRun.objects.filter(status="PENDING").update(status="CANCELLED", completed_at=hours.now)
        continue_forgotten(hours.now)

    first = (began + timedelta(minutes=5) - at(hours, 0)) / timedelta(minutes=1)
    assert fired(hours) == [first if minute == 5 else minute for minute in caught_up]
    assert RoutineRun.objects.filter(reason=Reason.SUPERSEDED).get().scheduled_for == at(hours, 60)
    assert hours.found() == []


def test_each_hint_has_its_own_expiry(hours: Hours) -> None:
    """The shorter ttl of a second hint does not cut the first."""
    hours.make(cron="0 0 1 1 *")
    service.propose_interval("report", "10m", ttl="2h", reason="busy", actor="ann")
    service.propose_next_time("report", at(hours, 2), ttl="3m", reason="now", actor="bob")
    hours.pass_by(minutes=1)
    found = {hint.kind: (hint.reason, hint.by) for hint in RoutineState.objects.get().fresh_hints(hours.now)}
    assert found == {"interval": ("busy", "ann"), "next": ("now", "bob")}
    hours.pass_by(minutes=130)

    assert len(fired(hours)) == 1 + 12
    assert hours.found() == []


def test_an_interval_does_not_fire_at_once_because_the_last_slot_is_old(hours: Hours) -> None:
    """It counts from now, and planning once more does not put it off."""
    hours.make(cron="0 0 1 1 *")
    hours.pass_by(minutes=47)
    service.propose_interval("report", "5m")
    planned = RoutineState.objects.get().next_slot
    assert planned == hours.now + timedelta(minutes=5)
    hours.pass_by(minutes=2)
    service.replan_routine("report")
    assert RoutineState.objects.get().next_slot == planned


def test_a_used_up_one_shot_is_no_hint(hours: Hours) -> None:
    """Neither for the page nor for the filter."""
    hours.make(cron="0 * * * *")
    service.propose_next_time("report", at(hours, 5), ttl="1h")
    hours.pass_by(minutes=6)
    assert RoutineState.objects.get().fresh_hints(hours.now) == []
    assert not ScheduleChange.objects.filter(kind=ChangeKind.HINT_EXPIRED).exists()


def test_hints_never_move_the_grid(hours: Hours) -> None:
    """After an interval hint, a factor, a one-shot and a failure the slots are where they were."""
    hours.make(every="30m", max_attempts=1)
    began = hours.began
    service.propose_interval("report", "7m", ttl="20m")
    hours.pass_by(minutes=25)
    service.propose_factor(0.4, routine="report", ttl="20m")
    service.propose_next_time("report", hours.now + timedelta(seconds=77))
    hours.pass_by(hours=4)

    on_grid = RoutineRun.objects.filter(source=Source.BASELINE_INTERVAL).values_list("scheduled_for", flat=True)
    assert len(on_grid) >= 6
    assert {(slot - began) % timedelta(minutes=30) for slot in on_grid} == {timedelta()}
    assert hours.found() == []


def test_a_clamp_does_not_plan_now_again_and_again_while_a_body_runs(hours: Hours) -> None:
    """Each slot that the running body keeps from running has a row, and the next is a whole distance away."""
    hours.make(cron="0 0 1 1 *", max_interval_ms=600_000, concurrency_policy="FORBID")
    service.propose_next_time("report", hours.now)
    hours.pass_by(seconds=10)
    hours.pass_by(minutes=35, every=5)

    assert RoutineRun.objects.filter(status=RunStatus.SKIPPED, reason=Reason.OVERLAP).count() == 3
    assert hours.found() == []


def test_a_slower_pace_takes_effect_from_the_next_slot(hours: Hours) -> None:
    """The slot that is planned stays where it is; a faster one comes at once."""
    hours.make(cron="*/10 * * * *")
    planned = RoutineState.objects.get().next_slot
    service.propose_interval("report", "25m")
    assert RoutineState.objects.get().next_slot == planned
    hours.pass_by(minutes=40)
    assert fired(hours) == [10, 35]
    service.propose_interval("report", "1m", ttl="5m")
    assert RoutineState.objects.get().next_slot == hours.now + timedelta(minutes=1)
    assert hours.found() == []


def test_another_one_shot_takes_the_first_back(hours: Hours) -> None:
    """One extra fire, not two."""
    hours.make()
    service.propose_next_time("report", at(hours, 5))
    service.propose_next_time("report", at(hours, 15))
    hours.pass_by(minutes=40)
    assert fired(hours) == [15]


def test_a_hint_that_is_over_is_dropped_by_the_next_proposal(hours: Hours) -> None:
    """And what it went past is accounted for: nothing of its life is owed later."""
    hours.make(cron="0 * * * *", catch_up_policy="ALL")
    hours.pass_by(minutes=61)
    service.propose_interval("report", "6h", ttl="150m")
    hours.pass_by(minutes=155)  # 120 fired as planned, 180 is passed over, 240 is the first after the ttl
    service.propose_next_time("report", at(hours, 220))
    hours.pass_by(minutes=40)

    assert fired(hours) == [60, 120, 220, 240]
    assert RoutineState.objects.get().hint_interval_ms is None
    assert ScheduleChange.objects.get(kind=ChangeKind.HINT_EXPIRED).after == {"next_source": "hint-oneshot"}
    assert hours.found() == []


def test_default_ttls(hours: Hours) -> None:
    """An hour for a pace; for a one-shot half an hour after its time, or after now when that is past."""
    hours.make(every="10m")
    service.propose_interval("report", "5m")
    service.propose_factor(2, routine="report")
    service.propose_next_time("report", "2199-01-01T12:00:00+02:00")
    state = RoutineState.objects.get()
    assert state.hint_interval_expires_at == state.hint_factor_expires_at == hours.now + timedelta(hours=1)
    assert state.hint_next_at == datetime(2199, 1, 1, 10, tzinfo=UTC)
    assert state.hint_next_expires_at == state.hint_next_at + timedelta(minutes=30)
    service.propose_next_time("report", hours.now - timedelta(hours=1))
    assert RoutineState.objects.get().hint_next_expires_at == hours.now + timedelta(minutes=30)


def test_pause_until_a_time_or_none(hours: Hours) -> None:
    """ISO 8601 text is as good as a datetime; None resumes."""
    routine = hours.make(every="10m")
    until = hours.now + timedelta(minutes=35)
    service.pause_until("report", until.isoformat(), reason="deploy", actor="ann")
    routine.refresh_from_db()
    assert (routine.status, routine.paused_until, routine.pause_reason) == ("PAUSED", until, "deploy")
    service.pause_until("report", None)
    routine.refresh_from_db()
    assert (routine.status, routine.paused_until) == ("ACTIVE", None)
    service.pause_until("report", None)


def test_the_plan_shows_what_the_claims_then_do(hours: Hours) -> None:
    """Hints, a clamp, a one-shot and the way back to the schedule."""
    hours.make("cron", cron="*/10 * * * *", min_interval_ms=600_000)
    hours.make("interval", every="30m", max_interval_ms=1_200_000)
    hours.make("slow", cron="0 * * * *")
    hours.make("manual")
    service.propose_next_time("cron", at(hours, 17))
    service.propose_interval("interval", "7m", ttl="50m")
    service.propose_factor(2, routine="slow", ttl="150m")
    service.propose_interval("manual", "25m", ttl="2h")
    service.propose_next_time("manual", at(hours, 40))
    planned = {(fire.name, fire.slot, str(fire.source)) for fire in service.plan(horizon="4h", limit=1000)}
    hours.pass_by(hours=4)

    runs = RoutineRun.objects.filter(status__in=FIRED)
    assert planned == set(runs.values_list("routine__name", "scheduled_for", "source"))
    assert hours.found() == []
