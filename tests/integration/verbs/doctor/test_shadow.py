"""The doctor about routines beside an old scheduler."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from routines_app.models import MovedEntry, OldFire, Routine, RoutineRun
from routines_app.verbs.doctor.answers import Answer
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.doctor.asking import answer

Make = Callable[..., Routine]
HOUR = timedelta(hours=1)


def moved(routine: Routine, *, shadow: bool = True, **moments: datetime) -> None:
    Routine.objects.filter(pk=routine.pk).update(shadow=shadow)
    MovedEntry.objects.create(routine=routine, scheduler="celery-redbeat", key=routine.name, **moments)


def fired(routine: Routine, at: datetime) -> None:
    OldFire.objects.create(scheduler="celery-redbeat", key=routine.name, task_id=str(at), fired_at=at)


def due(routine: Routine, at: datetime) -> None:
    RoutineRun.objects.create(
        routine=routine,
        task=routine.task,
        status="SKIPPED",
        reason="shadow",
        scheduled_for=at,
        eligible_at=at,
        completed_at=at,
        idempotency_key=str(at),
    )


def test_none(db: None) -> None:
    assert answer("shadow") == Answer("ok", "none")


def test_an_old_scheduler_that_fires(make: Make, time: Time) -> None:
    routine = make(every="1h")
    moved(routine)
    due(routine, MONDAY - HOUR)
    fired(routine, MONDAY - HOUR)
    assert answer("shadow") == Answer("ok", "1 in shadow")


def test_an_old_scheduler_that_is_silent(make: Make, time: Time) -> None:
    """Its slots have come, and no fire of it was seen for a day."""
    routine = make(every="1h")
    moved(routine)
    due(routine, MONDAY - HOUR)
    fired(routine, MONDAY - timedelta(days=2))
    level, found, advice = answer("shadow")
    assert (level, found) == ("warning", "no fire of their old scheduler was seen for a day 1: report")
    assert "INSTALLED_APPS" in advice


def test_a_monthly_one_is_not_missed(make: Make, time: Time) -> None:
    """None of its slots has come."""
    moved(make(cron="0 0 1 * *"))
    assert answer("shadow").level == "ok"


def test_a_switch_over_that_has_not_come_to_its_end(make: Make, time: Time) -> None:
    moved(make(every="1h"), disabled_at=MONDAY - HOUR)
    assert answer("shadow")[:2] == ("error", "fired by nobody 1: report")


def test_an_old_scheduler_that_fires_on(make: Make, time: Time) -> None:
    """Somebody has enabled it again: each slot is fired twice. What it fired before the switch-over is no matter."""
    routine = make(every="1h")
    moved(routine, shadow=False, disabled_at=MONDAY - HOUR, switched_at=MONDAY - HOUR)
    fired(routine, MONDAY - HOUR - timedelta(minutes=2))
    assert answer("shadow") == Answer("ok", "none")
    fired(routine, MONDAY - timedelta(minutes=2))
    assert answer("shadow")[:2] == ("error", "fired by their old scheduler after the switch-over 1: report")
