"""How many fires the coming hours hold, whatever the number of routines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

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
Part = tuple[int, datetime, datetime]  # which step, and from when until when
SCHEDULES = 200  # different schedules that are computed; of more, the commonest ones


def fires_per_hour(now: datetime) -> list[tuple[datetime, float]]:
    """How many fires each of the coming 24 hours holds.

    Routines with the same schedule are computed once, so the cost follows how many schedules differ. Intervals are
    spread evenly. The answer is kept for a minute.
    """
    return _fires_per_hour(now.replace(second=0, microsecond=0), ledger_alias())


@lru_cache(maxsize=2)
def _fires_per_hour(minute: datetime, using: str) -> list[tuple[datetime, float]]:
    first = minute.replace(minute=0)
    fires = count_by_schedule(Routine.objects.using(using), minute, first=first, step=HOUR, count=HOURS)
    return [(first + place * HOUR, number) for place, number in enumerate(fires)]


def count_by_schedule(
    routines: QuerySet[Routine], minute: datetime, *, first: datetime, step: timedelta, count: int
) -> list[float]:
    """How many fires after `minute` their schedules have in each of `count` steps from `first` on."""
    steps = [0.0] * count
    end = first + count * step
    active = _active(routines, minute, end)
    # Bounds outside the day cut nothing: without them, routines that differ only in those are one schedule.
    starts = Case(When(start_at__gt=minute, then=F("start_at")))
    ends = Case(When(end_at__lt=end, then=F("end_at")))
    schedules = active.order_by().annotate(starts=starts, ends=ends).values_list(*KEYS)
    commonest = list(schedules.annotate(count=Count("pk")).order_by("-count")[:SCHEDULES])
    for kind, cron, zone, interval_ms, starts_at, ends_at, alike in commonest:
        after, stop = (starts_at - INSTANT if starts_at else minute), (ends_at + INSTANT if ends_at else end)
        parts = _parts(after, stop, first, step)
        is_cron = kind == TriggerKind.CRON
        fires = _cron_fires(cron, zone, after, parts) if is_cron else _spread(interval_ms, parts)
        for place, number in fires:
            steps[place] += number * alike
    scale = _scale(active, sum(row[-1] for row in commonest)) if len(commonest) == SCHEDULES else 1.0
    single = _single_fires(routines, minute, [first + place * step for place in range(count + 1)])
    return [fires * scale + single[place] for place, fires in enumerate(steps)]


def _active(routines: QuerySet[Routine], minute: datetime, end: datetime) -> QuerySet[Routine]:
    """Routines that fire again and again, and may have a slot before the end."""
    repeated = [TriggerKind.CRON.value, TriggerKind.INTERVAL.value]
    living = routines.filter(status=RoutineStatus.ACTIVE, trigger_kind__in=repeated)
    begun, ended = Q(start_at=None) | Q(start_at__lt=end), Q(end_at__lte=minute)
    return living.filter(begun).exclude(ended)


def _single_fires(routines: QuerySet[Routine], minute: datetime, edges: Sequence[datetime]) -> list[int]:
    """How many routines have their one moment in each step: each has its own, so they are counted, not grouped."""
    once = routines.filter(status=RoutineStatus.ACTIVE, trigger_kind=TriggerKind.ONCE)
    coming = once.filter(once_at__gt=minute, once_at__lt=edges[-1])
    steps = {
        f"step_{place}": Count("pk", filter=Q(once_at__gte=begin, once_at__lt=end))
        for place, (begin, end) in enumerate(pairwise(edges))
    }
    return list(coming.aggregate(**steps).values())


def _scale(active: QuerySet[Routine], computed: int) -> float:
    """The schedules that were not computed are taken to be like those that were."""
    return active.count() / computed


def _cron_fires(cron: str, zone: str, after: datetime, parts: Iterable[Part]) -> Iterator[tuple[int, float]]:
    """How many fires each part holds, later than `after`: counted, not visited."""
    for place, begin, end in parts:
        last = after if begin == after else begin - INSTANT  # a fire at the turn of two steps is the later one's
        try:
            yield place, count_fires(cron, zone, last, end - INSTANT)
        except RoutineError:  # a corrupt row is the beat's to park; this is a picture
            return


def _spread(interval_ms: int | None, parts: Iterable[Part]) -> Iterator[tuple[int, float]]:
    """As many fires in each part as its share of the time."""
    each = 3_600_000 / (interval_ms or 3_600_000)
    for place, begin, end in parts:
        yield place, each * ((end - begin) / HOUR)


def _parts(after: datetime, stop: datetime, first: datetime, step: timedelta) -> Iterator[Part]:
    """The steps of the time between the two, each with where it begins and ends in it."""
    while after < stop:
        place = (after - first) // step
        end = min(first + (place + 1) * step, stop)
        yield place, after, end
        after = end
