"""Ticks of a rotation called feeds, runs of its members without workers, and rows that are changed by plain SQL."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from routines_app.core.words import RunStatus, RunTrigger
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import finish
from routines_app.protocol.record.outcome import Outcome, succeeded
from routines_app.protocol.run.start import Started, start
from tests.integration.conftest import Hours


def pass_ticks(hours: Hours, count: int, outcome: Outcome | None = None) -> None:
    """Each is claimed in time, and what it fired ends before the next one."""
    for _ in range(count):
        hours.pass_by(minutes=10)
        end_all(outcome or succeeded(None))
    hours.pass_by(minutes=1.5)


def end_all(outcome: Outcome) -> None:
    for run in RoutineRun.objects.filter(status=RunStatus.PENDING, rotation__isnull=False):
        begun = start(run.pk, "test@here")
        assert isinstance(begun, Started)
        finish(begun.facts, outcome)


def ticks() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.filter(routine__name="feeds", rotation=None).order_by("id")


def picked() -> QuerySet[RoutineRun]:
    return ticks().filter(status=RunStatus.SUCCESS)


def fired() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.filter(trigger=RunTrigger.ROTATION).order_by("id")


def first(rows: QuerySet[RoutineRun]) -> RoutineRun:
    found = rows.first()
    assert found is not None
    return found


def change(run: RoutineRun, **values: Any) -> None:
    """By plain SQL."""
    RoutineRun.objects.filter(pk=run.pk).update(**values)


def say(tick: RoutineRun, **facts: Any) -> None:
    change(tick, result=saw(tick) | facts)


def saw(tick: RoutineRun) -> Any:
    return tick.result


def tick_of(run: RoutineRun) -> RoutineRun:
    assert run.tick is not None
    return ticks().get(pk=run.tick)
