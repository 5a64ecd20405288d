"""QUEUE: whatever ends a chain, the first in line is looked at at once, and goes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.coordination import wakeups
from routines_app.core.admission import LOOK_AGAIN
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.end import line as line_module
from routines_app.protocol.end.finish import Lost
from routines_app.protocol.record.outcome import cancelled, failed
from routines_app.protocol.run.start import Expired, start
from tests.browser.scenes import make_routine, make_run
from tests.integration.conftest import Hours
from tests.integration.protocol.lines import EVERY, Line

pytestmark = pytest.mark.usefixtures("ledger")

BROKEN = failed(Reason.EXCEPTION, "ValueError: no")


def orphaned(line: Line, run: RoutineRun) -> None:
    assert not isinstance(line.close(run, failed(Reason.ORPHANED, "silent")), Lost)


def stopped(line: Line, run: RoutineRun) -> None:
    service.cancel_run(run)
    line.end(run, cancelled(Reason.CANCELLED))


ENDS: dict[str, Callable[[Line, RoutineRun], object]] = {
    "success": lambda line, run: line.end(run),
    "failure": lambda line, run: line.end(run, BROKEN),
    "cancelled": stopped,
    "orphaned": orphaned,
    "abandoned": lambda line, run: service.abandon_run(run),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_the_waiting_slot_goes_when_the_other_ends(hours: Hours, end: Callable[[Line, RoutineRun], object]) -> None:
    """At once: nobody waits for the next look that was planned."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    assert line.look() == []
    end(line, run)
    assert line.look() == [waiting]
    line.start(waiting)


def test_beats_are_told_that_the_line_moves_and_only_then(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that nobody waited behind is none of their business."""
    woken: list[int] = []
    monkeypatch.setattr(wakeups, "wake_beats", lambda: woken.append(1))
    line = Line(hours)
    line.end(line.running())
    assert not woken
    run = line.running()
    line.slot()
    line.end(run)
    assert woken == [1]


def test_the_slot_waits_for_the_whole_chain(hours: Hours) -> None:
    """A retry that waits is active, goes before the slot, and the slot when that has ended."""
    line = Line(hours, max_attempts=2, retry_delay_ms=60_000)
    run = line.running()
    waiting = line.slot()
    line.end(run, BROKEN)
    hours.now += LOOK_AGAIN
    assert line.look() == []
    hours.now += timedelta(minutes=1)
    (retry,) = line.look()
    assert (retry.attempt, retry.retry_of_id) == (2, run.pk)
    line.start(retry)
    line.end(retry, BROKEN)
    assert line.look() == [waiting]


def test_a_cancelled_retry_lets_the_slot_go(hours: Hours) -> None:
    """Its chain has ended without having started again."""
    line = Line(hours, max_attempts=2, retry_delay_ms=60_000)
    run = line.running()
    waiting = line.slot()
    line.end(run, BROKEN)
    assert line.look() == []
    service.cancel_run(RoutineRun.objects.get(trigger="retry"))
    assert line.look() == [waiting]


def test_what_was_asked_for_by_hand_goes_before_the_slot(hours: Hours) -> None:
    """The person is first, and then the slot, each when the one before has ended."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    asked = service.run_now(line.routine)
    assert (asked.status, asked.reason) == ("PENDING", Reason.OVERLAP)
    line.end(run)
    assert line.look() == [asked]
    line.start(asked)
    hours.now += LOOK_AGAIN
    assert line.look() == []
    line.end(asked)
    assert line.look() == [waiting]


def test_backfilled_slots_go_one_after_another(hours: Hours) -> None:
    """Each end lets the next one go, however long the line is."""
    line = Line(hours)
    hours.now += 6 * EVERY
    line.claim()
    for run in RoutineRun.objects.filter(status="PENDING"):
        line.end(line.start(run))
    filled = service.backfill(line.routine, hours.began, hours.now)
    (run,) = line.look()
    went = []
    while len(went) < len(filled):
        went.append(run.pk)
        line.end(line.start(run))
        run = next(iter(line.look()), run)
    assert went == [each.pk for each in sorted(filled, key=lambda each: each.scheduled_for)]


def test_a_run_that_expires_in_line_does_not_keep_the_next(hours: Hours) -> None:
    """It is skipped when it is looked at, and what waited behind it goes, though its own look is far away."""
    line = Line(hours)
    run = line.running()
    asked = service.run_now(line.routine)
    waiting = line.slot()
    RoutineRun.objects.filter(pk=waiting.pk).update(publish_after=hours.now + timedelta(hours=1))
    service.update_routine(line.routine, expires_ms=9_000)
    line.end(run)
    assert line.look() == []
    asked.refresh_from_db()
    assert (asked.status, asked.reason) == ("SKIPPED", Reason.EXPIRED)
    assert line.look() == [waiting]


def test_a_message_that_comes_too_late_lets_the_next_go(hours: Hours) -> None:
    """The worker finds it expired; the slot behind it is looked at at once."""
    line = Line(hours)
    sent = line.slot()
    waiting = line.slot()
    service.update_routine(line.routine, expires_ms=15_000)
    RoutineRun.objects.filter(pk=sent.pk).update(scheduled_for=hours.now - timedelta(minutes=5))
    assert isinstance(start(sent.pk, "worker", lease=False), Expired)
    assert line.look() == [waiting]


def test_a_lost_event_costs_a_second(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker died right after its end was written: the look that every waiting run gets finds the line free."""
    line = Line(hours)
    run = line.running()
    waiting = line.slot()
    monkeypatch.setattr(line_module, "_first_in_lines", lambda routine_ids: [])
    line.end(run)
    assert line.look() == []
    hours.now += LOOK_AGAIN
    assert line.look() == [waiting]


def test_archiving_ends_what_waits(hours: Hours) -> None:
    """And what runs finishes."""
    line = Line(hours)
    run = line.running()
    line.slot()
    service.archive_routine(line.routine)
    line.end(run)
    assert line.stands() == [("SUCCESS", ""), ("CANCELLED", "archived")]


def test_many_lines_move_on_with_as_many_questions_as_one(hours: Hours) -> None:
    """Whoever takes back the requests of many routines at once asks for all their lines at once; of each the first."""
    routines = [make_routine(f"line-{number}", concurrency_policy="QUEUE") for number in range(3)]
    for routine in routines:
        for minutes in (1, 2):
            make_run(routine, at=hours.now - timedelta(minutes=minutes), reason="overlap")
    with CaptureQueriesContext(connection) as captured:
        assert line_module.let_next_go([routine.pk for routine in routines], hours.now) == 3
    assert len([query for query in captured if "ROW_NUMBER" in query["sql"]]) == 1
    woken = RoutineRun.objects.filter(publish_after=hours.now).values_list("routine_id", "scheduled_for")
    assert sorted(woken) == [(routine.pk, hours.now - timedelta(minutes=2)) for routine in routines]
