"""How many fires the coming hours hold, whatever the number of routines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, When

from routines_app.core.cron_count import count_fires
from routines_app.core.errors import RoutineError
from routines_app.core.triggers import INSTANT
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.health.shared import SharedAnswer

HOURS = 24
HOUR = timedelta(hours=1)
KEYS = ("trigger_kind", "cron", "timezone", "interval_ms", "starts", "ends")
Part = tuple[int, datetime, datetime]  # which step, and from when until when
SCHEDULES = 200  # different schedules that are computed; of more, the commonest ones
COUNTED = 5_000  # different schedules whose routines are counted in one go
FRESH_SECONDS = 60
KEPT_SECONDS = 900  # while they are asked for anew beside it: of a million routines that takes seconds
LONGEST = timedelta(days=1, seconds=KEPT_SECONDS + 3600)  # beyond what is asked for, while an answer is kept

_shared = SharedAnswer("schedules-1")


def fires_per_hour(now: datetime) -> list[tuple[datetime, float]]:
    """How many fires each of the coming 24 hours holds.

    Routines with the same schedule are computed once, so the cost follows how many schedules differ. Intervals are
    spread evenly. Which schedules there are is asked once in a minute, for all that share Django's cache and beside
    them: whoever is the first to look for a while gets an answer of up to a quarter of an hour ago.
    """
    return _fires_per_hour(now.replace(second=0, microsecond=0), ledger_alias())


@lru_cache(maxsize=2)
def _fires_per_hour(minute: datetime, using: str) -> list[tuple[datetime, float]]:
    first = minute.replace(minute=0)
    fires = count_by_schedule(Routine.objects.using(using), minute, first=first, step=HOUR, count=HOURS, about="all")
    return [(first + place * HOUR, number) for place, number in enumerate(fires)]


def count_by_schedule(
    routines: QuerySet[Routine], minute: datetime, *, first: datetime, step: timedelta, count: int, about: str
) -> list[float]:
    """How many fires after `minute` their schedules have in each of `count` steps from `first` on.

    `about` names these routines: whoever asks about the same ones shares the list of their schedules.
    """
    steps = [0.0] * count
    end = first + count * step
    known = _shared.latest(
        about, lambda: _schedules(routines, minute), now=minute, fresh_seconds=FRESH_SECONDS, kept_seconds=KEPT_SECONDS
    )
    for kind, cron, zone, interval_ms, starts_at, ends_at, alike in known["commonest"]:
        after = max(starts_at - INSTANT, minute) if starts_at else minute
        stop = min(ends_at + INSTANT, end) if ends_at else end
        parts = _parts(after, stop, first, step)
        is_cron = kind == TriggerKind.CRON
        fires = _cron_fires(cron, zone, after, parts) if is_cron else _spread(interval_ms, parts)
        for place, number in fires:
            steps[place] += number * alike
    single = _single_fires(routines, minute, [first + place * step for place in range(count + 1)])
    return [fires * known["scale"] + single[place] for place, fires in enumerate(steps)]


def _schedules(routines: QuerySet[Routine], minute: datetime) -> dict[str, Any]:
    """The commonest schedules, each with how many have it; and how many more fires there are than theirs.

    For as long as the answer is kept and shown: bounds beyond that cut nothing, and without them routines that differ
    only in those are one schedule.
    """
    end = minute + LONGEST
    active = _active(routines, minute, end)
    starts = Case(When(start_at__gt=minute, then=F("start_at")))
    ends = Case(When(end_at__lt=end, then=F("end_at")))
    grouped = active.order_by().annotate(starts=starts, ends=ends).values_list(*KEYS).annotate(count=Count("pk"))
    found = list(grouped.order_by("-count")[:COUNTED])
    commonest = found[:SCHEDULES]
    every = sum(row[-1] for row in found) if len(found) < COUNTED else active.count()
    # The schedules that are not computed are taken to be like those that are.
    scale = every / sum(row[-1] for row in commonest) if commonest else 1.0
    return {"commonest": commonest, "scale": scale}


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
