"""QUEUE at the claim: the newest slot of an active routine waits, and stands for an older one that waited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.models import Pool, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.outcome import succeeded
from tests.integration.conftest import Hours
from tests.integration.hearing import hearing
from tests.integration.protocol.lines import EVERY, Line

pytestmark = pytest.mark.usefixtures("ledger")

WAITS = ("PENDING", "overlap")
SUPERSEDED = ("SKIPPED", "superseded")


def test_a_slot_that_finds_its_routine_active_waits(hours: Hours) -> None:
    """It is in the ledger with the reason, is not sent, and is looked at again."""
    line = Line(hours)
    line.running()
    waiting = line.slot()
    assert line.stands() == [("RUNNING", ""), WAITS]
    assert (waiting.dispatched_at, waiting.publish_after) == (None, hours.now + LOOK_AGAIN)


def test_at_most_one_slot_waits_and_it_is_the_newest(hours: Hours) -> None:
    """An older one that waits is skipped in the transaction that writes the newer one."""
    line = Line(hours)
    line.running()
    older, newer = line.slot(), line.slot()
    assert line.stands() == [("RUNNING", ""), SUPERSEDED, WAITS]
    older.refresh_from_db()
    assert (older.completed_at, older.publish_after) == (hours.now, None)
    assert line.waiting_slots() == [newer]
    assert hours.found() == []


def test_that_a_slot_was_superseded_is_told(hours: Hours) -> None:
    """Like every end."""
    line = Line(hours)
    line.running()
    older = line.slot()
    with hearing("run_skipped") as heard:
        line.slot()
    assert [(told["run"].pk, told["reason"]) for _, told in heard] == [(older.pk, "superseded")]


def test_of_several_slots_of_one_claim_the_first_goes_and_the_newest_waits(hours: Hours) -> None:
    """Those between are skipped, one row each, and the ledger balances."""
    line = Line(hours, catch_up_policy="LAST", misfire_grace_ms=600_000)
    hours.now += 5 * EVERY
    line.claim()
    assert line.stands() == [("PENDING", ""), *[SUPERSEDED] * 3, WAITS]
    first, *_, last = RoutineRun.objects.order_by("scheduled_for")
    assert first.dispatched_at is not None
    assert line.waiting_slots() == [last]
    assert hours.found() == []


def test_routines_that_are_alike_wait_alike(hours: Hours) -> None:
    """They are decided once, and each has rows of its own."""
    for name in "abc":
        hours.make(name, cron="*/10 * * * * *", concurrency_policy="QUEUE", catch_up_policy="LAST")
    hours.now += 3 * EVERY
    report = claim_due(hours.now)
    assert (report.fired, report.skipped, len(report.messages)) == (6, 3, 3)
    for name in "abc":
        rows = RoutineRun.objects.filter(routine__name=name).order_by("scheduled_for")
        assert list(rows.values_list("status", "reason")) == [("PENDING", ""), SUPERSEDED, WAITS]


def test_a_slot_that_meets_one_which_may_go_takes_its_place(hours: Hours) -> None:
    """The run before has ended, and no beat has looked yet: the newer slot goes, and nothing waits."""
    line = Line(hours)
    run = line.running()
    line.slot()
    line.end(run)
    goes = line.slot()
    assert line.stands() == [("SUCCESS", ""), SUPERSEDED, ("PENDING", "")]
    assert goes.dispatched_at is not None
    assert line.look() == []


def test_a_slot_that_is_on_its_way_is_not_superseded(hours: Hours) -> None:
    """It was let through: the next one waits for it."""
    line = Line(hours)
    line.slot()
    line.slot()
    assert line.stands() == [("PENDING", ""), WAITS]


def test_a_slot_waits_for_one_whose_time_has_not_come(hours: Hours) -> None:
    """Jitter holds the first; it is held by nobody else, so it goes, and the newest waits behind it."""
    line = Line(hours, jitter_ms=1_000)
    RoutineState.objects.update(next_run_at=hours.now)  # a hair before its jitter is over
    first = line.slot()
    RoutineRun.objects.filter(pk=first.pk).update(eligible_at=hours.now + timedelta(minutes=1), **NOT_YET)
    line.slot()
    line.slot()
    assert line.stands() == [("PENDING", "not_yet"), SUPERSEDED, WAITS]


NOT_YET: dict[str, Any] = {"reason": "not_yet", "admitted_at": None, "dispatched_at": None, "publish_after": None}


def test_what_was_asked_for_by_hand_is_not_superseded(hours: Hours) -> None:
    """Nor does it supersede a slot: it may carry other arguments."""
    line = Line(hours)
    line.running()
    line.slot()
    asked = service.run_now(line.routine, args=[1])
    assert (asked.status, asked.reason) == WAITS
    line.slot()
    assert line.stands() == [("RUNNING", ""), SUPERSEDED, WAITS, WAITS]


@pytest.mark.parametrize("started", [True, False])
def test_backfilled_slots_wait_one_behind_another(hours: Hours, started: bool) -> None:
    """Nobody stands for them, and a slot waits until they are done."""
    line = Line(hours)
    for _ in range(3):
        line.end(line.running())
    done = RoutineRun.objects.count()
    if started:
        line.running()
    filled = service.backfill(line.routine, hours.began, hours.now - 2 * EVERY)
    assert len(filled) >= 1
    line.slot()
    line.slot()
    assert [stands for stands in line.stands() if stands == SUPERSEDED] == [SUPERSEDED]
    sent = [] if started else line.look()
    assert [run.trigger for run in sent] == ([] if started else ["backfill"])
    assert RoutineRun.objects.filter(trigger="backfill", status="SKIPPED").count() == 0
    assert RoutineRun.objects.count() > done


def test_all_missed_slots_run_one_after_another(hours: Hours) -> None:
    """As under FORBID: the next of them is fired when the chain of the last has ended, and none waits."""
    line = Line(hours, catch_up_policy="ALL", misfire_grace_ms=1_000)
    hours.now += 4 * EVERY
    hours.now += timedelta(seconds=5)
    ran = []
    for _ in range(4):
        line.claim()
        (run,) = RoutineRun.objects.filter(status="PENDING")
        ran.append(run.scheduled_for)
        line.start(run)
        line.claim()
        assert RoutineRun.objects.filter(status="PENDING").count() == 0
        line.end(run)
    assert ran == sorted(ran)
    assert set(line.stands()) == {("SUCCESS", "")}
    assert hours.found() == []


def test_a_waiting_slot_does_not_queue_for_its_pool(hours: Hours) -> None:
    """It waits for the run before it first; in the pool's queue it would take the place of others."""
    Pool.objects.create(name="db", max_concurrent=1)
    line = Line(hours, pool="db")
    line.slot()
    (first,) = line.look() or RoutineRun.objects.all()
    line.start(first)
    waiting = line.slot()
    assert (waiting.reason, waiting.publish_after) == ("overlap", hours.now + LOOK_AGAIN)
    hours.now += LOOK_AGAIN
    assert line.look() == []
    line.end(first, succeeded(None))
    assert line.look() == [waiting]


def test_a_run_in_the_queue_of_its_pool_is_active(hours: Hours) -> None:
    """It was let through by its routine: a slot that comes then waits behind it and does not queue as well."""
    Pool.objects.create(name="db", max_concurrent=1)
    other = service.create_routine("other", task=hours.make().task, pool="db")
    service.run_now(other)
    line = Line(hours, pool="db")
    line.slot()
    line.slot()
    line.slot()
    mine = RoutineRun.objects.filter(routine=line.routine).order_by("scheduled_for")
    assert list(mine.values_list("status", "reason")) == [("PENDING", "ceiling"), SUPERSEDED, WAITS]
    hours.now += LOOK_AGAIN
    assert dispatch_waiting(hours.now) == []
    assert list(mine.values_list("status", "reason")) == [("PENDING", "ceiling"), SUPERSEDED, WAITS]
