"""`manage.py routines import-beat`."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab
from django.core.management import call_command
from redbeat import RedBeatSchedulerEntry

from routines_app.management.move_plan import SAME_FOR_ALL, STOP_FIRST
from routines_app.models import Routine, ScheduleChange
from routines_app.verbs.moving.carrying import GRID
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.management.commands.test_routines import routines
from tests.integration.old_schedulers import AddEntry

pytestmark = pytest.mark.usefixtures("db", "time")

DRY = ("import-beat", "--source", "django-celery-beat", "--dry-run")
AT_NINE = {"minute": "0", "hour": "9"}


def run(*arguments: str) -> tuple[list[str], int]:
    """What it prints, and its exit code."""
    out = StringIO()
    try:
        call_command("routines", *arguments, stdout=out)
    except SystemExit as left:
        return out.getvalue().splitlines(), int(left.code or 0)
    return out.getvalue().splitlines(), 0


def test_a_dry_run_tells_what_each_becomes_and_writes_nothing(add_entry: AddEntry) -> None:
    add_entry("report", crontab=AT_NINE, kwargs='{"password": "abc"}', last_run_at=MONDAY)
    add_entry(
        "sync", interval={"every": 10, "period": "minutes"}, last_run_at=MONDAY - timedelta(hours=1), queue="slow"
    )

    lines, code = run(*DRY)

    assert lines == [
        "create  report",
        f"    task: {NOTE}",
        '    kwargs: {"password": "••••••"}',
        "    cron: 0 9 * * *",
        "    timezone: UTC",
        "    fires: the next 50 are the same, from 2026-03-03 09:00:00+00:00",
        "create  sync",
        f"    task: {NOTE}",
        "    every: 10m",
        "    start_at: 2026-03-02T10:00:30+00:00",
        "    queue: slow",
        "    overdue since 2026-03-02 09:10:30+00:00: sent at once",
        f"    changed: {GRID.format('django-celery-beat')}",
        "    fires: the next 50 are the same, from 2026-03-02 10:10:30+00:00",
        SAME_FOR_ALL,
        STOP_FIRST,
        "Nothing is written: django-celery-beat: 2 created",
    ]
    assert (code, Routine.objects.count()) == (0, 0)


def test_differences_are_a_table_with_the_reason_and_exit_with_one(add_entry: AddEntry) -> None:
    """Also when they are accepted: a dry run says whether everything stays as it was."""
    add_entry(
        "report", crontab={"minute": "30", "hour": "2", "timezone": ZoneInfo("Europe/Berlin")}, last_run_at=MONDAY
    )

    lines, code = run(*DRY)

    assert code == 1
    assert lines[0].startswith("refused  report: its next fires would be others")
    at = lines.index("    fires: of the next 50 these differ:")
    assert lines[at + 1].split() == ["OLD", "OURS", "REASON"]
    row = "      2026-03-29 01:30:00+00:00  2026-03-29 01:00:00+00:00  clocks in Europe/Berlin change at 2026-03-29"
    assert lines[at + 2].startswith(row)
    lines, code = run(*DRY, "--accept-differences")
    assert (lines[0], code) == ("create  report", 1)


def test_what_cannot_be_carried_is_named_and_exits_with_one(redbeat_app: Celery) -> None:
    RedBeatSchedulerEntry(
        "report", NOTE, crontab(minute="0", hour="9"), options={"link": 1}, app=redbeat_app
    ).save().reschedule(MONDAY)

    lines, code = run("import-beat", "--source", "celery-redbeat", "--dry-run")

    assert "    cannot be carried: link" in lines
    assert code == 1
    assert run("import-beat", "--source", "celery-redbeat")[1] == 0, "it is made all the same, and was named"


def test_it_makes_the_routines_and_says_who_did_it(add_entry: AddEntry) -> None:
    add_entry("report", crontab=AT_NINE, last_run_at=MONDAY)
    add_entry("sunset", solar={"event": "sunset", "latitude": 1, "longitude": 2})

    lines, code = run("import-beat", "--source", "django-celery-beat", "--reason", "INFRA-7")

    assert lines[-1] == "django-celery-beat: 1 created, 1 refused"
    assert (code, [routine.name for routine in Routine.objects.all()]) == (1, ["report"])
    change = ScheduleChange.objects.get()
    assert (change.reason, change.actor.endswith("(command line)")) == ("INFRA-7", True)
    lines, _ = run("import-beat", "--source", "django-celery-beat", "--only", "report")
    assert lines == ["already there  report", "django-celery-beat: 1 already there"]


def test_json_is_the_same_for_programs(add_entry: AddEntry) -> None:
    add_entry("report", crontab=AT_NINE, kwargs='{"password": "abc"}', last_run_at=MONDAY, enabled=False)

    found = json.loads(routines(*DRY, "--json"))

    (entry,) = found.pop("entries")
    assert found == {
        "source": "django-celery-beat",
        "dry_run": True,
        "shadow": False,
        "exact": True,
        "counts": {"create": 1, "already there": 0, "left to the beats": 0, "over": 0, "refused": 0},
    }
    assert entry["fields"]["kwargs"] == {"password": "••••••"}
    assert (entry["act"], entry["paused"], entry["compared"]) == ("create", "disabled in django-celery-beat", 50)
    assert (entry["first_fire"], entry["differences"]) == ("2026-03-03T09:00:00+00:00", [])


def test_of_beat_schedule_it_shows_what_the_beats_do(beat_schedule: dict[str, Any]) -> None:
    """And makes no second routine."""
    beat_schedule["report"] = {"task": NOTE, "schedule": crontab(minute="0", hour="9")}
    beat_schedule["both"] = {"task": NOTE, "schedule": crontab(day_of_month="13", day_of_week="fri")}

    lines, code = run("import-beat", "--source", "beat_schedule")

    assert lines[0].startswith("refused  both: schedule: ")
    assert lines[1] == "left to the beats  report: our beats make it when they start"
    assert lines[-2:] == [
        "    fires: the next 50 are the same, from 2026-03-03 09:00:00+00:00",
        "beat_schedule: 1 left to the beats, 1 refused",
    ]
    assert (code, Routine.objects.count()) == (1, 0)
