"""Carrying: what each entry of another scheduler becomes, and what stays where it is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import schedule
from kombu import Exchange, Queue
from redbeat import RedBeatSchedulerEntry

from routines_app import service
from routines_app.core.words import RoutineStatus, RunStatus, RunTrigger
from routines_app.models import MovedEntry, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.service import MoveAct
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.old_schedulers import AddEntry
from tests.integration.verbs.moving.moves import DCB, made, moved

BERLIN = ZoneInfo("Europe/Berlin")
HOURLY = {"every": 1, "period": "hours"}
AT_NINE = {"minute": "0", "hour": "9"}
REDBEAT = service.OldScheduler.REDBEAT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]


def test_a_crontab_keeps_its_timezone_and_all_that_its_messages_say(add_entry: AddEntry) -> None:
    """And runs as Celery runs it: one attempt, and no limit but the task's own."""
    add_entry(
        "report",
        crontab={"minute": "30", "hour": "2", "day_of_week": "mon-fri", "timezone": BERLIN},
        args="[1]",
        kwargs='{"shop": 7}',
        queue="slow",
        exchange="other",
        routing_key="key",
        priority=4,
        headers='{"tenant": "a"}',
        expire_seconds=90,
        last_run_at=MONDAY.replace(hour=1, minute=30),
    )

    routine = made("report")

    assert (routine.cron, routine.timezone, routine.task) == ("30 2 * * mon-fri", "Europe/Berlin", NOTE)
    assert (routine.args, routine.kwargs, routine.queue) == ([1], {"shop": 7}, "slow")
    options = {"priority": 4, "headers": {"tenant": "a"}, "exchange": "other", "routing_key": "key"}
    assert (routine.options, routine.expires_ms) == (options, 90_000)
    assert (routine.max_attempts, routine.timeout_ms, routine.catch_up_policy) == (1, 0, "LAST")
    assert routine.state.next_run_at == datetime(2026, 3, 3, 2, 30, tzinfo=BERLIN)
    entry = MovedEntry.objects.get(routine=routine)
    assert (entry.scheduler, entry.key, entry.switched_at) == (DCB, "report", MONDAY)
    change = ScheduleChange.objects.get(routine_id=routine.pk)
    assert change.reason == "moved over from django-celery-beat"


def test_the_first_fire_of_an_interval_is_the_old_schedulers_next_one(add_entry: AddEntry) -> None:
    ran_at = MONDAY - timedelta(minutes=25, microseconds=7)
    add_entry("sync", interval=HOURLY, last_run_at=ran_at)

    routine = made("sync")

    assert (routine.interval_ms, routine.start_at) == (3_600_000, ran_at + timedelta(hours=1))
    assert routine.state.next_run_at == routine.start_at


def test_an_interval_that_never_ran_is_counted_as_django_celery_beat_does(add_entry: AddEntry) -> None:
    """From when it was last changed."""
    add_entry("sync", interval=HOURLY, date_changed=MONDAY - timedelta(minutes=5))

    assert made("sync").start_at == MONDAY + timedelta(minutes=55)


def test_an_overdue_interval_fires_at_once_and_then_in_its_distance(add_entry: AddEntry, time: Time) -> None:
    """As the old beat would do it on its start."""
    add_entry("sync", interval=HOURLY, last_run_at=MONDAY - timedelta(hours=5))
    made("sync")

    time.pass_by(seconds=1)
    claim_due(time.now)

    (run,) = RoutineRun.objects.all()
    assert (run.scheduled_for, run.status) == (MONDAY, RunStatus.PENDING)
    assert RoutineState.objects.get().next_slot == MONDAY + timedelta(hours=1)


def test_a_crontab_that_is_overdue_runs_once_for_all_that_was_missed(add_entry: AddEntry, time: Time) -> None:
    """Not a slot since the last run is lost, and the ledger balances."""
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY - timedelta(days=3, hours=1))
    made("report")

    time.pass_by(seconds=1)
    claim_due(time.now)

    skipped, run = RoutineRun.objects.order_by("scheduled_for")
    assert (run.scheduled_for, run.status) == (MONDAY.replace(hour=9, second=0), RunStatus.PENDING)
    assert run.trigger == RunTrigger.CATCH_UP
    assert (skipped.status, skipped.occurrences, skipped.scheduled_for.day) == (RunStatus.SKIPPED, 2, 28)
    assert RoutineState.objects.get().next_slot == MONDAY.replace(day=3, hour=9, second=0)
    assert service.audit(MONDAY - timedelta(days=5), now=time.now).imbalances == []


def test_a_crontab_that_has_run_at_its_last_slot_does_not_run_again(add_entry: AddEntry, time: Time) -> None:
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY.replace(hour=9, second=0, microsecond=3))
    made("report")

    time.pass_by(hours=1)
    claim_due(time.now)

    assert not RoutineRun.objects.exists()


def test_what_is_disabled_comes_paused(add_entry: AddEntry, time: Time) -> None:
    add_entry("report", crontab=AT_NINE, enabled=False)

    routine = made("report")

    assert (routine.status, routine.pause_reason) == (RoutineStatus.PAUSED, "disabled in django-celery-beat")
    claim_due(time.pass_by(days=2))
    assert not RoutineRun.objects.exists()


def test_a_start_to_come_bounds_the_slots(add_entry: AddEntry) -> None:
    """An interval begins with it; a crontab at its first time after it."""
    start = MONDAY + timedelta(days=3)
    add_entry("sync", interval=HOURLY, start_time=start, date_changed=MONDAY)
    add_entry("report", crontab=AT_NINE, start_time=start)

    assert made("sync").state.next_run_at == start
    routine = Routine.objects.get(name="report")
    assert routine.start_at == MONDAY.replace(day=6, hour=9, second=0)


def test_an_expiry_at_a_moment_ends_the_schedule_just_before_it(add_entry: AddEntry) -> None:
    """django-celery-beat disables it at that moment: a slot there is not fired."""
    add_entry("report", crontab=AT_NINE, expires=MONDAY.replace(day=4, hour=9, second=0), last_run_at=MONDAY)

    move, routine = moved("report")

    assert routine is not None
    assert routine.end_at == MONDAY.replace(day=4, hour=8, minute=59, second=59, microsecond=999_999)
    assert move.comparison is not None
    assert (move.comparison.compared, move.differs) == (1, False)
    assert any("is still started" in note for note in move.changed)


def test_clocked_and_one_off_entries_fire_once(add_entry: AddEntry, time: Time) -> None:
    """At their moment, or when the old scheduler would send them next."""
    add_entry("clocked", clocked={"clocked_time": MONDAY + timedelta(days=1)}, one_off=True)
    add_entry("one-off", crontab=AT_NINE, one_off=True, last_run_at=MONDAY)
    add_entry("late", clocked={"clocked_time": MONDAY - timedelta(days=1)}, one_off=True)

    made("clocked")

    found = {routine.name: (routine.trigger_kind, routine.once_at) for routine in Routine.objects.all()}
    assert found == {
        "clocked": ("ONCE", MONDAY + timedelta(days=1)),
        "one-off": ("ONCE", MONDAY.replace(day=3, hour=9, second=0)),
        "late": ("ONCE", MONDAY - timedelta(days=1)),
    }
    claim_due(time.pass_by(seconds=1))
    assert [(run.routine.name, run.status) for run in RoutineRun.objects.all()] == [("late", RunStatus.PENDING)]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"crontab": AT_NINE, "expires": MONDAY - timedelta(days=1)}, "it ended at 2026-03-01 10:00:30 UTC"),
        ({"crontab": AT_NINE, "one_off": True, "total_run_count": 1}, "a one-off that has been sent"),
        (
            {"clocked": {"clocked_time": MONDAY - timedelta(days=1)}, "one_off": True, "enabled": False},
            "a one-off that is disabled: django-celery-beat disables one when it has been sent",
        ),
    ],
)
def test_what_is_over_is_not_carried(values: dict[str, Any], why: str, add_entry: AddEntry) -> None:
    add_entry("old", **values)

    move, routine = moved("old")

    assert (move.act, move.why, routine) == (MoveAct.OVER, why, None)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"solar": {"event": "sunset", "latitude": 1, "longitude": 2}}, "solar events are not supported"),
        ({"interval": {"every": 500_000, "period": "microseconds"}}, "give a second or more"),
        ({"crontab": {"day_of_month": "13", "day_of_week": "fri"}}, "not both"),
        ({"interval": HOURLY, "task": "no such\ntask"}, "task: "),
    ],
)
def test_what_cannot_be_a_routine_stays_where_it_is(values: dict[str, Any], why: str, add_entry: AddEntry) -> None:
    """And the others are made."""
    add_entry("refused", **values)
    add_entry("fine", interval=HOURLY, last_run_at=MONDAY)

    move, routine = moved("refused")

    assert move.act is MoveAct.REFUSE
    assert why in move.why
    assert routine is None
    assert [routine.name for routine in Routine.objects.all()] == ["fine"]


def test_an_exchange_of_type_headers_cannot_be_carried(redbeat_app: Celery) -> None:
    """Neither by its name, where a queue of the app is bound to it, nor as it is."""
    queues = redbeat_app.amqp.queues
    queues.add(Queue("by-headers", Exchange("sorting", type="headers")))
    try:
        RedBeatSchedulerEntry("report", NOTE, schedule(90), options={"exchange": "sorting"}, app=redbeat_app).save()
        RedBeatSchedulerEntry("other", NOTE, schedule(90), options={"exchange": "another"}, app=redbeat_app).save()
        other, report = service.plan_move(REDBEAT).moves
    finally:
        del queues["by-headers"]
    assert "it is of type headers: give one of another type, or a queue" in report.why
    assert "headers" not in other.why


def test_the_first_monday_is_said_in_another_way(add_entry: AddEntry) -> None:
    """Celery wants both of its day fields to match; what that means can be said here, and fires the same."""
    add_entry("report", crontab=AT_NINE | {"day_of_month": "1-7", "day_of_week": "mon"}, last_run_at=MONDAY)

    move, routine = moved("report")

    assert routine is not None
    assert (routine.cron, move.differs) == ("0 9 * * 1#1", False)
    assert "a day has to match both its fields there: it is written in another way" in move.changed
