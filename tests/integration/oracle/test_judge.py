"""The oracle itself: it is content with a ledger that balances, and names what is wrong with one that does not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.db.models import F

from routines_app import service
from routines_app.models import Pool, RoutineRun
from tests.integration.conftest import Hours
from tests.oracle import Verdict, judge


@dataclass(frozen=True)
class Seen:
    """A body as its log tells of it."""

    run: str | None
    started_at: float
    seconds: float = 1.0

    @property
    def started(self) -> float:
        return self.started_at

    @property
    def ended(self) -> float | None:
        return self.started_at + self.seconds


def judged(hours: Hours, *bodies: Seen) -> Verdict:
    return judge(lambda: bodies, until=hours.now - timedelta(minutes=1))


def run_body(run: RoutineRun, begin: datetime, seconds: float = 1.0) -> Seen:
    """The run succeeded, and its body says so too."""
    end = begin + timedelta(seconds=seconds)
    RoutineRun.objects.filter(pk=run.pk).update(status="SUCCESS", started_at=begin, completed_at=end)
    return Seen(str(run.pk), begin.timestamp(), seconds)


@pytest.fixture
def hourful(hours: Hours) -> Hours:
    """Ten minutes of a cron and of an interval."""
    hours.make("cron", cron="* * * * *", timezone="Asia/Kathmandu")
    hours.make("interval", every="45s", concurrency_policy="ALLOW")
    hours.pass_by(minutes=10)
    return hours


def test_it_is_content_with_a_ledger_that_balances(hourful: Hours) -> None:
    """And counts what there is to count."""
    verdict = judged(hourful)
    assert verdict.balances, verdict.page()
    assert verdict.fired == RoutineRun.objects.count() == 10 + 13


def test_slots_that_a_clamp_passes_over_after_an_edit_are_no_early_claims(hours: Hours) -> None:
    """Their rows lie between the change and what it has planned, as those of a beat with its clock ahead would."""
    hours.make("clamped", cron="*/10 * * * * *", min_interval_ms=25_000)
    hours.pass_by(seconds=96, every=1)
    service.update_routine("clamped", cron="*/20 * * * * *")
    hours.pass_by(minutes=3, every=1)
    verdict = judged(hours)
    assert verdict.balances, verdict.page()


@pytest.mark.parametrize("schedule", [{"cron": "*/5 * * * * *"}, {"every": "5s"}])
def test_a_row_for_slots_before_and_after_what_is_judged_counts_all_of_them(
    hours: Hours, schedule: dict[str, str]
) -> None:
    """The beat came back after that moment, and SKIP left one row for everything but the newest slot."""
    hours.make("tick", **schedule)
    hours.pass_by(seconds=20, every=5)
    gone = hours.now + timedelta(seconds=17)
    hours.pass_by(seconds=40, beat=False)
    hours.pass_by(seconds=5, every=5)
    verdict = judge(until=gone)
    assert verdict.balances, verdict.page()
    spans = RoutineRun.objects.filter(status="SKIPPED", scheduled_for__lt=gone, scheduled_until__gt=gone)
    assert spans.update(occurrences=F("occurrences") + 1) == 1
    assert judge(until=gone).unexpected


@pytest.mark.parametrize("name", ["cron", "interval"])
def test_a_deleted_row_is_a_lost_slot(hourful: Hours, name: str) -> None:
    """By recomputation, and by continuity."""
    RoutineRun.objects.filter(routine__name=name).order_by("scheduled_for")[3].delete()
    assert judged(hourful).lost


@pytest.mark.parametrize("name", ["cron", "interval"])
def test_a_row_beside_the_schedule_is_unexpected(hourful: Hours, name: str) -> None:
    """Moved by a second, it is neither planned nor a slot."""
    run = RoutineRun.objects.filter(routine__name=name).order_by("scheduled_for")[3]
    run.scheduled_for += timedelta(seconds=1)
    run.save()
    assert judged(hourful).unexpected


def test_a_body_that_started_twice_is_a_duplicate(hourful: Hours) -> None:
    """Whatever the ledger says about it."""
    run = RoutineRun.objects.earliest("scheduled_for")
    body = run_body(run, run.scheduled_for)
    assert judged(hourful, body).balances
    assert judged(hourful, body, body).duplicates


def test_a_body_of_a_run_that_never_started_is_unexpected(hourful: Hours) -> None:
    """Only a started row has a body."""
    run = RoutineRun.objects.earliest("scheduled_for")
    assert judged(hourful, Seen(str(run.pk), run.scheduled_for.timestamp())).unexpected


def test_a_success_without_a_body_is_unexpected(hourful: Hours) -> None:
    """Nobody can confirm it."""
    first, second = RoutineRun.objects.order_by("scheduled_for")[:2]
    run_body(second, second.scheduled_for)
    assert judged(hourful, run_body(first, first.scheduled_for)).unexpected


def test_two_exclusive_bodies_at_once_overlap_until_the_row_of_one_has_ended(hours: Hours) -> None:
    """A body that outlives its row is told apart, and is no overlap."""
    hours.make("alone", every="45s", concurrency_policy="REPLACE")
    hours.pass_by(minutes=5)
    first, second = RoutineRun.objects.order_by("scheduled_for")[:2]
    bodies = [run_body(first, first.scheduled_for, 60), run_body(second, second.scheduled_for, 5)]
    assert judged(hours, *bodies).overlaps

    RoutineRun.objects.filter(pk=first.pk).update(status="CANCELLED", completed_at=second.scheduled_for)
    verdict = judged(hours, *bodies)
    assert verdict.overlaps == []
    assert len(verdict.outlived) == 1


def test_more_bodies_than_a_pool_allows_are_found(hours: Hours) -> None:
    """Counted from the bodies, not from the rows."""
    Pool.objects.create(name="one", max_concurrent=1)
    for name in ("a", "b"):
        hours.make(name, every="45s", pool="one")
    hours.pass_by(minutes=2)
    bodies = [run_body(run, run.scheduled_for, 10) for run in RoutineRun.objects.filter(scheduled_for__lt=hours.now)]
    assert judged(hours, *bodies).ceilings


def test_a_chain_with_a_gap_or_an_early_end_is_broken(hourful: Hours) -> None:
    """Attempts count up one by one, and a lost worker's run is tried again."""
    run = RoutineRun.objects.earliest("scheduled_for")
    RoutineRun.objects.filter(pk=run.pk).update(status="FAILED", reason="orphaned", completed_at=hourful.now)
    assert judged(hourful).lost

    third = RoutineRun.objects.get(pk=run.pk)
    third.pk, third.chain, third.retry_of, third.attempt = RoutineRun().pk, run.pk, run, 3
    third.idempotency_key = f"{run.idempotency_key[:-1]}3"
    third.save(force_insert=True)
    assert judged(hourful).chains


@pytest.fixture
def in_turn(hours: Hours) -> Hours:
    """A QUEUE routine whose first run lasts: of ten slots after it the newest waits."""
    hours.make("in turn", every="30s", concurrency_policy="QUEUE")
    hours.pass_by(minutes=5)
    return hours


def test_it_is_content_with_one_slot_that_waits_in_line(in_turn: Hours) -> None:
    """The others gave way to it."""
    verdict = judged(in_turn)
    assert verdict.balances, verdict.page()
    assert verdict.skipped == {"superseded": RoutineRun.objects.count() - 2}


def test_two_slots_that_wait_in_line_are_unexpected(in_turn: Hours) -> None:
    """At most one does."""
    older = RoutineRun.objects.filter(reason="superseded").latest("scheduled_for")
    RoutineRun.objects.filter(pk=older.pk).update(status="PENDING", reason="overlap", completed_at=None)
    assert judged(in_turn).unexpected


def test_a_slot_that_was_skipped_instead_of_waiting_is_unexpected(in_turn: Hours) -> None:
    """Or that gave way although no newer one came."""
    newest = RoutineRun.objects.filter(status="PENDING", reason="overlap")
    newest.update(status="SKIPPED", completed_at=in_turn.now)
    assert judged(in_turn).unexpected
    RoutineRun.objects.filter(reason="overlap").update(reason="superseded")
    assert judged(in_turn).lost
