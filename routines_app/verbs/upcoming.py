"""How many fires the coming hours hold, whatever the number of routines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Case, Count, F, Q, QuerySet, When

from routines_app.core.cron_count import count_fires
from routines_app.core.errors import RoutineError
from routines_app.core.triggers import INSTANT
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias

HOURS = 24
HOUR = timedelta(hours=1)
KEYS = ("trigger_kind", "cron", "timezone", "interval_ms", "starts", "ends")
SCHEDULES = 200  # different schedules that are computed; of more, the commonest ones


def fires_per_hour(now: datetime) -> list[tuple[datetime, float]]:
    """How many fires each of the coming 24 hours holds.

    Routines with the same schedule are computed once, so the cost follows how many schedules differ. Intervals are
    spread evenly. The answer is kept for a minute.
    """
    return _fires_per_hour(now.replace(second=0, microsecond=0), ledger_alias())


@lru_cache(maxsize=2)
def _fires_per_hour(minute: datetime, using: str) -> list[tuple[datetime, float]]:
    hours = [0.0] * HOURS
    first = minute.replace(minute=0)
    end = first + HOURS * HOUR
    active = _active(minute, end, using)
    # Bounds outside the day cut nothing: without them, routines that differ only in those are one schedule.
    starts = Case(When(start_at__gt=minute, then=F("start_at")))
    ends = Case(When(end_at__lt=end, then=F("end_at")))
    schedules = active.order_by().annotate(starts=starts, ends=ends).values_list(*KEYS)
    commonest = list(schedules.annotate(count=Count("pk")).order_by("-count")[:SCHEDULES])
    for kind, cron, zone, interval_ms, starts_at, ends_at, count in commonest:
        after, stop = (starts_at - INSTANT if starts_at else minute), (ends_at + INSTANT if ends_at else end)
        is_cron = kind == TriggerKind.CRON
        fires = _cron_fires(cron, zone, after, stop) if is_cron else _spread(interval_ms, after, stop)
        for hour, number in fires:
            hours[(hour - first) // HOUR] += number * count
    scale = _scale(active, sum(row[-1] for row in commonest)) if len(commonest) == SCHEDULES else 1.0
    single = _single_fires(minute, first, using)
    return [(first + place * HOUR, fires * scale + single[place]) for place, fires in enumerate(hours)]


def _active(minute: datetime, end: datetime, using: str) -> QuerySet[Routine]:
    """Routines that fire again and again, and may have a slot in the day."""
    repeated = [TriggerKind.CRON.value, TriggerKind.INTERVAL.value]
    living = Routine.objects.using(using).filter(status=RoutineStatus.ACTIVE, trigger_kind__in=repeated)
    begun, ended = Q(start_at=None) | Q(start_at__lt=end), Q(end_at__lte=minute)
    return living.filter(begun).exclude(ended)


def _single_fires(minute: datetime, first: datetime, using: str) -> list[int]:
    """How many routines have their one moment in each hour: each has its own, so they are counted, not grouped."""
    once = Routine.objects.using(using).filter(status=RoutineStatus.ACTIVE, trigger_kind=TriggerKind.ONCE)
    coming = once.filter(once_at__gt=minute, once_at__lt=first + HOURS * HOUR)
    hours = {
        f"hour_{place}": Count("pk", filter=Q(once_at__gte=begin, once_at__lt=begin + HOUR))
        for place, begin in enumerate(first + place * HOUR for place in range(HOURS))
    }
    return list(coming.aggregate(**hours).values())


def _scale(active: QuerySet[Routine], computed: int) -> float:
    """The schedules that were not computed are taken to be like those that were."""
    return active.count() / computed


def _cron_fires(cron: str, zone: str, after: datetime, stop: datetime) -> Iterator[tuple[datetime, float]]:
    """How many fires each hour holds, later than `after` and before `stop`: counted, not visited."""
    for hour, begin, end in _hours(after, stop):
        last = after if begin == after else begin - INSTANT  # a fire at the turn of two hours is the later one's
        try:
            yield hour, count_fires(cron, zone, last, end - INSTANT)
        except RoutineError:  # a corrupt row is the beat's to park; this is a picture
            return


def _spread(interval_ms: int | None, after: datetime, stop: datetime) -> Iterator[tuple[datetime, float]]:
    """As many fires in each hour as its share of the time between the two."""
    each = 3_600_000 / (interval_ms or 3_600_000)
    for hour, begin, end in _hours(after, stop):
        yield hour, each * ((end - begin) / HOUR)


def _hours(after: datetime, stop: datetime) -> Iterator[tuple[datetime, datetime, datetime]]:
    """The hours of the time between the two, each with where it begins and ends in it."""
    while after < stop:
        end = min(_hour(after) + HOUR, stop)
        yield _hour(after), after, end
        after = end


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
