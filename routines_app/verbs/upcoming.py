"""How many fires the coming hours hold, whatever the number of routines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.db.models import Case, Count, F, Q, QuerySet, When

from routines_app.core.cron import next_fire, parse_cron
from routines_app.core.cron_fields import Fields
from routines_app.core.errors import RoutineError
from routines_app.core.triggers import INSTANT
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias

HOURS = 24
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
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
    return [(first + place * HOUR, fires * scale) for place, fires in enumerate(hours)]


def _active(minute: datetime, end: datetime, using: str) -> QuerySet[Routine]:
    """Routines whose schedule may have a slot in the day."""
    living = Routine.objects.using(using).filter(status=RoutineStatus.ACTIVE).exclude(trigger_kind=TriggerKind.MANUAL)
    begun, ended = Q(start_at=None) | Q(start_at__lt=end), Q(end_at__lte=minute)
    return living.filter(begun).exclude(ended)


def _scale(active: QuerySet[Routine], computed: int) -> float:
    """The schedules that were not computed are taken to be like those that were."""
    return active.count() / computed


def _cron_fires(cron: str, zone: str, after: datetime, stop: datetime) -> Iterator[tuple[datetime, float]]:
    """How many fires each hour holds, from hour to hour on the wall: no need to visit each fire."""
    try:
        fields = parse_cron(cron).fields
        fire = next_fire(cron, zone, after)
    except RoutineError:  # a corrupt row is the beat's to park; this is a picture
        return
    while fire is not None and fire < stop:
        wall = fire.astimezone(ZoneInfo(zone))
        if wall.hour in fields.hours and wall.minute in fields.minutes:
            yield from _wall_hour(fields, fire, wall, stop)
            fire = next_fire(cron, zone, fire.replace(second=0) + (60 - wall.minute) * MINUTE - SECOND)
        else:  # the clock skips what falls due now: that is one fire, however much it was
            yield _hour(fire), 1
            fire = next_fire(cron, zone, fire)


def _wall_hour(fields: Fields, fire: datetime, wall: datetime, stop: datetime) -> Iterator[tuple[datetime, float]]:
    """The fires from this one to the end of its hour on the wall; minutes and seconds tell how many.

    That hour may lie in two hours of UTC: not all zones are whole hours apart.
    """
    minutes, seconds = fields.minutes, fields.seconds
    stops_at = wall.minute - (fire.replace(second=0) - stop) // MINUTE  # the minute on the wall, rounded up
    turns_at = wall.minute + 60 - fire.minute  # where the hour of UTC ends
    own = bisect_left(minutes, wall.minute)
    turn = max(own + 1, bisect_left(minutes, min(turns_at, stops_at)))
    end = bisect_left(minutes, min(60, stops_at))
    yield _hour(fire), (turn - own) * len(seconds) - bisect_left(seconds, wall.second)
    if end > turn:
        yield _hour(fire) + HOUR, (end - turn) * len(seconds)


def _spread(interval_ms: int | None, after: datetime, stop: datetime) -> Iterator[tuple[datetime, float]]:
    """As many fires in each hour as its share of the time between the two."""
    each = 3_600_000 / (interval_ms or 3_600_000)
    while after < stop:
        following = min(_hour(after) + HOUR, stop)
        yield _hour(after), each * ((following - after) / HOUR)
        after = following


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
