"""Moving over: what is moved, refused or left, and that nothing is lost or made twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab, schedule
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redbeat import RedBeatSchedulerEntry
from redbeat.schedules import rrule

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.masks import MASK
from routines_app.models import MovedEntry, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.service import MoveAct
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.old_schedulers import AddEntry
from tests.integration.verbs.moving.moves import DCB, made, moved

BERLIN = ZoneInfo("Europe/Berlin")
AT_NINE = {"minute": "0", "hour": "9"}
REDBEAT = service.OldScheduler.REDBEAT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]


def test_fires_that_differ_are_refused_until_they_are_accepted(add_entry: AddEntry) -> None:
    """Half past two is in the gap of the last Sunday of March."""
    add_entry("report", crontab={"minute": "30", "hour": "2", "timezone": BERLIN}, last_run_at=MONDAY)

    move, routine = moved("report")

    assert (move.act, routine) == (MoveAct.REFUSE, None)
    assert move.comparison is not None
    (difference,) = move.comparison.differences
    assert (difference.old, difference.ours) == (
        datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN),
        datetime(2026, 3, 29, 3, 0, tzinfo=BERLIN),
    )
    assert difference.reason.startswith(
        "clocks in Europe/Berlin change at 2026-03-29 03:00 CEST: ours fires as soon as"
    )

    move, routine = moved("report", accept_differences=True)
    assert move.act is MoveAct.CREATE
    assert routine is not None


def test_moving_over_again_makes_nothing_twice(add_entry: AddEntry) -> None:
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY)
    routine = made("report")

    move, again = moved("report")

    assert (move.act, move.routine_id, again) == (MoveAct.THERE, routine.pk, routine)


def test_a_name_of_somebody_elses_routine_is_refused(add_entry: AddEntry) -> None:
    """Two of one name would be two fires."""
    other = service.create_routine("report", task=NOTE, cron="0 9 * * *")
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY)

    move, _ = moved("report")

    assert (move.act, Routine.objects.count()) == (MoveAct.REFUSE, 1)
    assert move.why.startswith(f"another routine has that name (id {other.pk})")


def test_an_entry_that_the_beats_import_is_left_to_them(add_entry: AddEntry, beat_schedule: dict[str, Any]) -> None:
    """django-celery-beat copies beat_schedule into its own table: a routine of both would fire twice."""
    beat_schedule["report"] = {"task": NOTE, "schedule": 60}
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY)

    move, routine = moved("report")

    assert (move.act, routine) == (MoveAct.BEATS, None)


def test_in_shadow_nothing_is_owed_and_nothing_sent(add_entry: AddEntry, time: Time) -> None:
    """The old scheduler sends what is overdue, and what comes."""
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY - timedelta(days=3))

    routine = made("report", shadow=True)

    assert routine.shadow
    assert MovedEntry.objects.get(routine=routine).switched_at is None
    assert routine.state.next_run_at == MONDAY.replace(day=3, hour=9, second=0)
    claim_due(time.pass_by(days=1))
    assert [(run.status, run.reason) for run in RoutineRun.objects.all()] == [(RunStatus.SKIPPED, Reason.SHADOW)]


def test_only_what_is_asked_for_is_moved(add_entry: AddEntry) -> None:
    for name in ("one", "two", "three"):
        add_entry(name, crontab=AT_NINE, last_run_at=MONDAY)

    plan = service.move_over(DCB, only=["one", "two"])

    assert [move.key for move in plan.moves] == ["one", "two"]
    assert Routine.objects.count() == 2
    with pytest.raises(service.NotFound, match="only: 'four' is not accepted: it has no entry of that name"):
        service.plan_move(DCB, only=["four"])


def test_a_plan_writes_nothing_and_shows_no_secret(add_entry: AddEntry) -> None:
    add_entry("report", crontab=AT_NINE, kwargs='{"api_key": "abc"}', headers='{"token": "x"}', last_run_at=MONDAY)

    (move,) = service.plan_move(DCB).moves

    assert (move.act, move.routine_id, Routine.objects.count()) == (MoveAct.CREATE, None, 0)
    assert (move.fields["kwargs"], move.fields["options"]) == ({"api_key": MASK}, {"headers": {"token": MASK}})


def test_the_move_is_all_or_nothing(add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails behind the routines takes them along."""
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY)
    monkeypatch.setattr("routines_app.verbs.moving.move.MovedEntry", None)

    with pytest.raises(TypeError):
        service.move_over(DCB)

    assert (Routine.objects.count(), ScheduleChange.objects.count()) == (0, 0)


@pytest.mark.usefixtures("measured_clock")
def test_statements_are_counted_by_batches(add_entry: AddEntry) -> None:
    """Many entries cost no more of them than a few."""
    add_entry("first", crontab=AT_NINE, last_run_at=MONDAY)
    counts = []
    for batch in range(2):
        for number in range(1 + 10 * batch):
            add_entry(f"entry {batch} {number}", crontab=AT_NINE, last_run_at=MONDAY)
        with CaptureQueriesContext(connection) as asked:
            service.move_over(DCB)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(service.InvalidValue, match="source: 'cron' is not accepted: give one of django-celery-beat"):
        service.plan_move("cron")


def test_entries_of_redbeat_move_over(redbeat_app: Celery) -> None:
    """Also one that has never been sent, which redbeat sends at once; an rrule cannot be said."""
    saved = RedBeatSchedulerEntry(
        "report", NOTE, crontab(minute="0", hour="9"), options={"link": 1}, app=redbeat_app
    ).save()
    saved.reschedule(last_run_at=MONDAY)
    never = RedBeatSchedulerEntry("never", NOTE, schedule(90), app=redbeat_app)
    never.last_run_at = None
    never.save()
    RedBeatSchedulerEntry("rule", NOTE, rrule("DAILY", dtstart=MONDAY), app=redbeat_app).save()

    plan = service.move_over(REDBEAT)

    acts = {move.key: (move.act, move.differs) for move in plan.moves}
    assert acts == {
        "never": (MoveAct.CREATE, False),
        "report": (MoveAct.CREATE, False),
        "rule": (MoveAct.REFUSE, False),
    }
    report, never = (Routine.objects.get(name=name) for name in ("report", "never"))
    assert (report.cron, report.timezone) == ("0 9 * * *", "UTC")
    assert (never.interval_ms, never.start_at, never.state.next_run_at) == (90_000, MONDAY, MONDAY)
    assert plan.moves[1].cannot == ("link",)
    assert not plan.is_exact
