"""Waiting runs of a QUEUE routine: who goes, whatever happened to the routine meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.end.overlap import READ_PER_KIND, active_runs
from routines_app.protocol.plan.park import park
from routines_app.protocol.publish.judge import LOOK_LATER
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.start import Refused, start
from tests.integration.conftest import Hours
from tests.integration.protocol.lines import EVERY, Line
from tests.integration.verbs.rows import running_run, waiting_run

pytestmark = pytest.mark.usefixtures("ledger")

WAITS = ("PENDING", "overlap")
SUPERSEDED = ("SKIPPED", "superseded")


def test_a_pause_holds_the_waiting_slot_and_then_it_waits_again(hours: Hours) -> None:
    """While the other still runs; and it goes after that."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    service.pause_routine(line.routine)
    hours.now += LOOK_AGAIN
    assert line.look() == []
    assert line.stands()[1] == ("PENDING", "paused")
    service.resume_routine(line.routine)
    assert line.look() == []
    assert line.stands()[1] == WAITS
    line.end(run)
    assert line.look() == [waiting]


def test_the_end_of_the_other_during_a_pause_lets_nothing_go(hours: Hours) -> None:
    """The slot goes when the pause is over."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    service.pause_routine(line.routine)
    line.end(run)
    assert line.look() == []
    service.resume_routine(line.routine)
    assert line.look() == [waiting]


def test_a_newer_slot_that_comes_before_the_look_after_a_pause_is_the_one_that_waits(hours: Hours) -> None:
    """The pause has taken its reason from the older one; the next look finds out that it is of no use."""
    line = Line(hours)
    line.running()
    line.slot()
    service.pause_routine(line.routine)
    service.resume_routine(line.routine)
    newer = line.slot()
    assert len(line.waiting_slots()) == 1
    assert line.look() == []
    assert line.stands() == [("RUNNING", ""), SUPERSEDED, WAITS]
    assert line.waiting_slots() == [newer]
    assert hours.found() == []


def test_a_manual_run_passes_what_a_pause_holds(hours: Hours) -> None:
    """Who presses the button on a paused routine means it: the retry before it in line waits for a resume."""
    line = Line(hours, max_attempts=2, retry_delay_ms=60_000)
    run = line.running()
    line.slot()
    line.end(run, failed(Reason.EXCEPTION, "ValueError: no"))
    service.pause_routine(line.routine)
    asked = service.run_now(line.routine)
    assert (asked.status, asked.reason) == ("PENDING", "")


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID", "REPLACE"])
def test_an_edit_of_the_policy_leaves_nothing_stuck(hours: Hours, policy: str) -> None:
    """What waited goes as the new policy says; back under QUEUE nothing overlaps."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    service.update_routine(line.routine, concurrency_policy=policy)
    hours.now += LOOK_AGAIN
    sent = line.look()
    assert sent == ([waiting] if policy == "ALLOW" else [])
    line.end(run)
    hours.now += LOOK_AGAIN
    sent += line.look()
    assert sent == [waiting]
    line.start(waiting)

    service.update_routine(line.routine, concurrency_policy="QUEUE")
    newer = line.slot()
    assert (newer.status, newer.reason) == WAITS
    line.end(waiting)
    hours.now += LOOK_AGAIN
    assert line.look() == [newer]


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID", "REPLACE"])
def test_what_waited_under_another_policy_keeps_its_place_in_line(hours: Hours, policy: str) -> None:
    """Runs of any number may be on their way when QUEUE begins: one starts, the others are handed back and wait."""
    line = Line(hours, concurrency_policy=policy)
    run = line.running()
    line.slot()
    service.update_routine(line.routine, concurrency_policy="QUEUE")
    newest = line.slot()
    sent = RoutineRun.objects.filter(status="PENDING", dispatched_at__isnull=False)
    for early in sent:
        assert start(early.pk, "worker", lease=False) == Refused(Reason.KEY_TAKEN)
    hours.now += 2 * LOOK_AGAIN
    assert line.look() == []
    assert line.waiting_slots() == [newest]
    line.end(run)
    assert line.look() == [newest]


def test_a_slot_that_was_handed_back_goes_before_the_one_that_waits(hours: Hours) -> None:
    """It was its turn; Redis was away, say. Nobody runs, so it waits for nobody and is not superseded."""
    line = Line(hours)
    first = line.slot()
    line.slot()
    RoutineRun.objects.filter(pk=first.pk).update(
        dispatched_at=None, admitted_at=None, reason="redis_away", eligible_at=hours.now, publish_after=hours.now
    )
    newest = line.slot()
    assert line.stands() == [("PENDING", "redis_away"), SUPERSEDED, WAITS]
    assert line.look() == [first]
    line.end(line.start(first))
    assert line.look() == [newest]


def test_a_long_backfill_hides_nobody_in_line(hours: Hours) -> None:
    """Of each kind some are read: the retry and the request that came before a thousand others are seen."""
    line = Line(hours, max_attempts=2, retry_delay_ms=60_000)
    run = line.running()
    service.run_now(line.routine)
    hours.now += (READ_PER_KIND + 20) * EVERY
    service.backfill(line.routine, hours.began, hours.now - EVERY)
    found = active_runs([line.routine.pk])[line.routine.pk]
    assert sum(other.place.turn == 1 for other in found) == 1
    line.end(run)
    (goes,) = line.look()
    assert goes.trigger == "manual"


def test_a_manual_run_passes_a_retry_that_the_pause_will_hold(hours: Hours) -> None:
    """It was written after the pause, with a time of its own: its row does not say that it will be held."""
    line = Line(hours, max_attempts=3, retry_delay_ms=3_600_000, retry_max_delay_ms=7_200_000)
    run = line.running()
    service.pause_routine(line.routine)
    line.end(run, failed(Reason.EXCEPTION, "ValueError: no"))
    asked = service.run_now(line.routine)
    assert (asked.status, asked.reason) == ("PENDING", "")
    assert RoutineRun.objects.get(trigger="retry").reason == "not_yet"


def test_a_manual_run_passes_what_a_parked_routine_has_in_its_pools_queue(hours: Hours) -> None:
    """Parking leaves the row as it was, but nobody lets it in."""
    pool = service.create_pool("db", max_concurrent=1)
    running_run(hours.make("busy"), 77, pool=pool)
    line = Line(hours, pool="db")
    assert line.slot().reason == "ceiling"
    with transaction.atomic():
        park(line.routine, "broken", hours.now)
    service.update_pool("db", max_concurrent=5)
    asked = service.run_now(line.routine)
    sent = set(RoutineRun.objects.filter(pk=asked.pk, dispatched_at__isnull=False)) | set(line.look())
    assert sent == {asked}


def test_a_manual_run_passes_a_retry_that_is_held_in_the_same_look(hours: Hours) -> None:
    """What was decided about the retry counts for those after it."""
    line = Line(hours)
    service.pause_routine(line.routine)
    waits = {"admitted_at": None, "publish_after": hours.now, "eligible_at": hours.now}
    waiting_run(line.routine, 1, trigger="retry", attempt=2, **waits)
    asked = waiting_run(line.routine, 2, trigger="manual", requested_at=hours.now, reason="overlap", **waits)
    assert line.look() == [asked]


def test_the_end_of_a_chain_wakes_who_is_not_held(hours: Hours) -> None:
    """The retry of a parked routine is the first in line; behind it waits what somebody asked for."""
    line = Line(hours)
    run = line.running()
    waits = {"admitted_at": None, "publish_after": hours.now + LOOK_LATER, "reason": "overlap"}
    waiting_run(line.routine, 1, trigger="retry", attempt=2, **waits)
    asked = waiting_run(line.routine, 2, trigger="manual", requested_at=hours.now, **waits)
    with transaction.atomic():
        park(line.routine, "broken", hours.now)
    line.end(run)
    assert line.look() == [asked]


@pytest.mark.parametrize("runs", [True, False], ids=["superseded", "let through"])
def test_many_lines_are_judged_with_as_many_statements_as_few(hours: Hours, runs: bool) -> None:
    """One look at the slots of all of them."""
    counts = []
    for size in (2, 12):
        for at in range(size):
            routine = hours.make(f"{size} {at}", concurrency_policy="QUEUE")
            if runs:
                running_run(routine, 1000 * size + at, running_key=routine.pk)
            for number in (1, 2) if runs else (1,):
                slot = hours.now - timedelta(seconds=9 - number)
                waits = {"admitted_at": None, "publish_after": hours.now, "reason": "overlap"}
                waiting_run(routine, 1000 * size + 100 * number + at, scheduled_for=slot, **waits)
        with CaptureQueriesContext(connection) as captured:
            sent = dispatch_waiting(hours.now)
        assert len(sent) == (0 if runs else size)
        counts.append(len(captured))
    assert counts[0] == counts[1]
