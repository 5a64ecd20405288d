"""How many fires the coming hours hold, whatever the number of routines."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Count, QuerySet

from routines_app.core.cron import next_fire, parse_cron
from routines_app.core.errors import RoutineError
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Routine

HOURS = 24
HOUR = timedelta(hours=1)
SCHEDULES = 200  # different schedules that are computed; of more, the commonest ones


def fires_per_hour(now: datetime, using: str) -> list[tuple[datetime, float]]:
    """How many fires each of the coming 24 hours holds.

    Routines with the same schedule are computed once, so the cost follows how many schedules differ. Intervals are
    spread evenly. The answer is kept for a minute.
    """
    return _fires_per_hour(now.replace(second=0, microsecond=0), using)


@lru_cache(maxsize=2)
def _fires_per_hour(minute: datetime, using: str) -> list[tuple[datetime, float]]:
    hours = [0.0] * HOURS
    first = minute.replace(minute=0)
    active = Routine.objects.using(using).filter(status=RoutineStatus.ACTIVE).exclude(trigger_kind=TriggerKind.MANUAL)
    schedules = active.order_by().values_list("trigger_kind", "cron", "timezone", "interval_ms")
    commonest = list(schedules.annotate(count=Count("pk")).order_by("-count")[:SCHEDULES])
    for kind, cron, zone, interval_ms, count in commonest:
        per_hour = _cron_hours(cron, zone, minute) if kind == TriggerKind.CRON else _even_hours(interval_ms, minute)
        for place, fires in enumerate(per_hour):
            hours[place] += fires * count
    scale = _scale(active, sum(row[-1] for row in commonest)) if len(commonest) == SCHEDULES else 1.0
    return [(first + place * HOUR, fires * scale) for place, fires in enumerate(hours)]


def _scale(active: QuerySet[Routine], computed: int) -> float:
    """The schedules that were not computed are taken to be like those that were."""
    return active.count() / computed


def _cron_hours(cron: str, zone: str, start: datetime) -> list[float]:
    """Fires by hour. Within an hour that fires, minutes and seconds tell how often: no need to visit each."""
    hours = [0.0] * HOURS
    first = start.replace(minute=0)
    try:
        fields = parse_cron(cron).fields
        fire = next_fire(cron, zone, start)
    except RoutineError:  # a corrupt row is the beat's to park; this is a picture
        return hours
    while fire is not None and (place := (fire - first) // HOUR) < HOURS:
        minutes = fields.minutes if place else [minute for minute in fields.minutes if minute >= fire.minute]
        hours[place] += max(len(minutes), 1) * len(fields.seconds)
        fire = next_fire(cron, zone, first + (place + 1) * HOUR - timedelta(seconds=1))
    return hours


def _even_hours(interval_ms: int | None, start: datetime) -> list[float]:
    each = 3_600_000 / (interval_ms or 3_600_000)
    return [each * (60 - start.minute) / 60, *[each] * (HOURS - 1)]
