"""Slots that hints and clamps go past: each is in the ledger once, and whatever was announced has its row."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun, RoutineState
from tests.integration.conftest import Hours
from tests.oracle.judge import judge


def at(hours: Hours, minutes: float) -> datetime:
    """That many minutes after the full hour in which it began."""
    return hours.began.replace(second=0) + timedelta(minutes=minutes)


def rows(hours: Hours) -> list[tuple[float, str, int]]:
    """Minute, source or reason, and slots of each row."""
    runs = RoutineRun.objects.order_by("scheduled_for")
    start = at(hours, 0)
    return [
        ((run.scheduled_for - start).total_seconds() / 60, run.reason or run.source, run.occurrences) for run in runs
    ]


def assert_balances(hours: Hours) -> None:
    """By the audit and by the oracle."""
    assert hours.found() == []
    verdict = judge(until=hours.now)
    assert verdict.balances, verdict.page()


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        (30, [(10, 1), (20, 1), (30, 1), (40, 3), (65, 1)]),
        (40, [(10, 1), (20, 1), (30, 1), (40, 1), (50, 3), (75, 1)]),
    ],
)
def test_a_one_shot_on_a_slot_that_a_slow_hint_goes_past(
    hours: Hours, policy: str, minute: int, expected: list[tuple[int, int]]
) -> None:
    """It stands for that slot, fired or skipped; the others are counted around it."""
    hours.make(cron="*/10 * * * *", concurrency_policy=policy)
    hours.pass_by(minutes=10)
    service.propose_interval("report", "35m", ttl="2h")
    hours.pass_by(minutes=10)
    service.propose_next_time("report", at(hours, minute))
    hours.pass_by(minutes=56)
    assert [(minute, count) for minute, _, count in rows(hours)] == expected
    assert_balances(hours)


def test_two_one_shots_on_slots_of_one_slow_interval(hours: Hours) -> None:
    """Each stands for its own."""
    hours.make(cron="*/10 * * * *")
    hours.pass_by(minutes=10)
    service.propose_interval("report", "2h", ttl="5h")
    hours.pass_by(minutes=15)
    service.propose_next_time("report", at(hours, 40))
    hours.pass_by(minutes=20)
    service.propose_next_time("report", at(hours, 60))
    hours.pass_by(hours=3)
    assert rows(hours) == [
        (10, "baseline-cron", 1),
        (20, "baseline-cron", 1),
        (30, "superseded", 1),
        (40, "hint-oneshot", 1),
        (50, "superseded", 1),
        (60, "hint-oneshot", 1),
        (70, "superseded", 11),
        (180, "hint-interval", 1),
    ]
    assert_balances(hours)


def test_an_announced_slot_of_a_clamped_interval_has_a_row(hours: Hours) -> None:
    """ALL announces one slot after another, and the clamp does not want the last."""
    hours.make(every="10m", min_interval_ms=900_000, catch_up_policy="ALL", misfire_grace_ms=12 * 60_000)
    hours.pass_by(minutes=65, beat=False)
    for _ in range(60):
        hours.pass_by(seconds=10)
        for run in RoutineRun.objects.filter(status="PENDING"):
            service.cancel_run(run.pk)
    assert_balances(hours)


def test_a_one_shot_that_is_too_close_fires_as_soon_as_it_may(hours: Hours) -> None:
    """Where the schedule's next slot comes after its expiry; the schedule goes on as if it had not been."""
    hours.make(cron="5 * * * *", min_interval_ms=120_000)
    hours.pass_by(minutes=5)
    service.propose_next_time("report", hours.now)
    assert RoutineState.objects.get().next_source == "clamped-min"
    hours.pass_by(hours=2)
    expected = [(5, "baseline-cron", 1), (7, "clamped-min", 1), (65, "baseline-cron", 1), (125, "baseline-cron", 1)]
    assert rows(hours) == expected
    assert RoutineState.objects.get().hint_next_at is None
    assert_balances(hours)


def test_another_one_shot_takes_back_one_that_was_put_off(hours: Hours) -> None:
    """The clamp's moment was made for the first: nothing is left to fire there."""
    hours.make(cron="5 * * * *", min_interval_ms=120_000)
    hours.pass_by(minutes=5)
    service.propose_next_time("report", hours.now)
    service.propose_next_time("report", at(hours, 30))
    hours.pass_by(hours=1)
    assert rows(hours) == [(5, "baseline-cron", 1), (30, "hint-oneshot", 1), (65, "baseline-cron", 1)]
    assert_balances(hours)


def test_a_put_off_one_shot_that_is_due_is_taken_back_by_clearing(hours: Hours) -> None:
    """The clamp's moment was made for it, so it does not outlive its hint; the row says who took it back."""
    hours.make(cron="5 * * * *", min_interval_ms=120_000)
    hours.pass_by(minutes=5)
    service.propose_next_time("report", hours.now)
    hours.pass_by(beat=False, minutes=3)
    service.clear_hints("report")
    hours.pass_by(hours=1)
    (skipped,) = RoutineRun.objects.filter(status=RunStatus.SKIPPED)
    assert (skipped.scheduled_for, skipped.reason) == (at(hours, 7), Reason.SUPERSEDED)
    assert [minute for minute, source, _ in rows(hours) if source == "baseline-cron"] == [5, 65]
    assert_balances(hours)


def test_another_one_shot_leaves_a_slot_that_the_clamp_chose(hours: Hours) -> None:
    """It is the schedule's own, and was put off for nobody."""
    hours.make(cron="*/10 * * * *", min_interval_ms=15 * 60_000)
    hours.pass_by(minutes=10)
    service.propose_next_time("report", hours.now)
    assert RoutineState.objects.get().next_slot == at(hours, 30)
    service.propose_next_time("report", at(hours, 35))
    hours.pass_by(minutes=35)
    assert (30, "clamped-min", 1) in rows(hours)


def test_a_one_shot_that_is_too_close_is_served_by_a_slot_before_its_expiry(hours: Hours) -> None:
    """As for every clamp, the grid stays."""
    hours.make(cron="*/10 * * * *", min_interval_ms=120_000)
    hours.pass_by(minutes=10)
    service.propose_next_time("report", hours.now)
    hours.pass_by(minutes=20)
    assert [minute for minute, _, _ in rows(hours)] == [10, 20, 30]
    assert RoutineState.objects.get().hint_next_at is None


def test_a_one_shot_that_no_slot_could_serve_is_refused(hours: Hours) -> None:
    """It says when the next may be, and nothing is written."""
    hours.make(cron="5 * * * *", min_interval_ms=40 * 60_000)
    hours.pass_by(minutes=5)
    with pytest.raises(service.RoutineError, match="min_interval_ms") as refused:
        service.propose_next_time("report", hours.now)
    assert refused.value.field == "at"
    assert str(at(hours, 45)) in refused.value.expected
    assert RoutineState.objects.get().hint_next_at is None
    service.propose_next_time("report", hours.now, ttl="45m")
    assert RoutineState.objects.get().next_slot == at(hours, 45)


@pytest.mark.parametrize("by", ["clamp", "hint"])
def test_what_is_gone_past_before_the_end_of_a_schedule(hours: Hours, by: str) -> None:
    """The claim after which nobody looks again has settled it."""
    hours.make(cron="*/10 * * * *", end_at=at(hours, 45), min_interval_ms=40 * 60_000 if by == "clamp" else None)
    if by == "hint":
        service.propose_interval("report", "40m", ttl="1h")
    hours.pass_by(minutes=11)
    assert RoutineState.objects.get().next_source == "ended"
    assert_balances(hours)
    hours.pass_by(hours=2)
    assert rows(hours) == [(10, "baseline-cron", 1), (20, "superseded", 3)]
    assert_balances(hours)


def test_a_schedule_that_is_given_a_later_end_goes_on(hours: Hours) -> None:
    """What was settled up to the old end stays settled."""
    hours.make(cron="*/10 * * * *", end_at=at(hours, 25), min_interval_ms=15 * 60_000)
    hours.pass_by(minutes=12)
    service.update_routine("report", end_at=at(hours, 55))
    hours.pass_by(hours=1)
    assert [(minute, count) for minute, _, count in rows(hours)] == [(10, 1), (20, 1), (30, 1), (40, 1), (50, 1)]
    assert_balances(hours)


def test_a_hint_that_is_over_does_not_keep_the_audit_from_judging(hours: Hours) -> None:
    """Slots of its life wait for the next claim; those after it are owed, and in the ledger or missed."""
    hours.make(cron="*/10 * * * *")
    hours.pass_by(minutes=10)
    service.propose_interval("report", "35m", ttl="60m")
    hours.pass_by(minutes=65)  # 20, 55, and then 80, the first after the hint; 60 and 70 are not settled yet
    assert RoutineState.objects.get().next_slot == at(hours, 80)
    assert_balances(hours)
    RoutineState.objects.update(next_slot=at(hours, 110), next_run_at=at(hours, 110))
    hours.pass_by(minutes=27)
    assert "should have fired and has no row" in hours.found()
    lost = judge(until=hours.now).lost
    assert [text for text in lost if "has no row" in text] == [
        f"report: {at(hours, 80)} has no row",
        f"report: {at(hours, 90)} has no row",
        f"report: {at(hours, 100)} has no row",
    ]
