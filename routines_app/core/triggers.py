"""What makes a routine fire, and its slots: the UTC instants that fires stand for."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.cron import next_fire
from routines_app.core.cron_count import count_fires, last_fire

MAX_ENUMERATED = 10_000  # slots listed in one go: a fraction of a second, far more than a claim needs
SECOND = timedelta(seconds=1)
INSTANT = timedelta(microseconds=1)  # the resolution of a stored time; `x - INSTANT` makes `x` inclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class CronTrigger:
    """Fires by a cron expression, read in a timezone, between two bounds that are slots themselves."""

    expression: str
    timezone: str
    start_at: datetime | None = None
    end_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalTrigger:
    interval_ms: int
    anchor: datetime
    """Slots are `anchor + k * interval` for k = 0, 1, 2 …: they never drift."""
    start_at: datetime | None = None
    end_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceTrigger:
    """Has one slot, and keeps no distance from any other: hints about the pace and clamps say nothing about it."""

    at: datetime
    start_at: datetime | None = None
    end_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualTrigger:
    """Fires when asked, and has no slots of its own."""


Trigger = CronTrigger | IntervalTrigger | OnceTrigger | ManualTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slots one by one. When `truncated`, later ones of the asked range are missing."""

    slots: tuple[datetime, ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Many slots in one: the first, the last and how many."""

    first: datetime
    last: datetime
    count: int


def next_slot(trigger: Trigger, after: datetime) -> datetime | None:
    """The first slot strictly later than `after`, within `start_at` and `end_at` (both inclusive)."""
    if isinstance(trigger, ManualTrigger):
        return None
    if trigger.start_at is not None:
        after = max(after, trigger.start_at - INSTANT)
    slot = _unbounded_slot(trigger, after)
    if slot is None or (trigger.end_at is not None and slot > trigger.end_at):
        return None
    return slot


def slots_between(trigger: Trigger, after: datetime, until: datetime, limit: int = MAX_ENUMERATED) -> Slots:
    """At most `limit` slots of `(after, until]`, in order."""
    slots: list[datetime] = []
    slot = next_slot(trigger, after)
    while slot is not None and slot <= until:
        if len(slots) >= limit:
            return Slots(slots=tuple(slots), truncated=True)
        slots.append(slot)
        slot = next_slot(trigger, slot)
    return Slots(slots=tuple(slots), truncated=False)


def count_between(trigger: Trigger, after: datetime, until: datetime) -> Span | None:
    """The slots of `(after, until]` as one span, None when there are none. Counted, not listed: ten years of seconds
    cost as much as a minute of them."""
    first = next_slot(trigger, after)
    if isinstance(trigger, ManualTrigger) or first is None or first > until:
        return None
    until = until if trigger.end_at is None else min(until, trigger.end_at)
    if isinstance(trigger, IntervalTrigger):
        interval = timedelta(milliseconds=trigger.interval_ms)
        more = (until - first) // interval
        return Span(first=first, last=first + more * interval, count=more + 1)
    if isinstance(trigger, OnceTrigger):
        return Span(first=first, last=first, count=1)
    cron, zone = trigger.expression, trigger.timezone
    last = last_fire(cron, zone, first, until) or first
    return Span(first=first, last=last, count=1 + count_fires(cron, zone, first, last))


def slot_at(trigger: Trigger, span: Span, place: int) -> datetime:
    """The slot at that place, counted from 0, in a span of the trigger's slots."""
    if isinstance(trigger, IntervalTrigger):
        return span.first + place * timedelta(milliseconds=trigger.interval_ms)
    if not isinstance(trigger, CronTrigger) or place == span.count - 1:
        return span.last
    seconds = range((span.last - span.first) // SECOND)  # cron slots are whole seconds
    cron, zone = trigger.expression, trigger.timezone
    found = bisect_left(seconds, place, key=lambda at: count_fires(cron, zone, span.first, span.first + at * SECOND))
    return span.first + found * SECOND


def _unbounded_slot(trigger: CronTrigger | IntervalTrigger | OnceTrigger, after: datetime) -> datetime | None:
    if isinstance(trigger, CronTrigger):
        return next_fire(trigger.expression, trigger.timezone, after)
    if isinstance(trigger, OnceTrigger):
        return trigger.at if trigger.at > after else None
    interval = timedelta(milliseconds=trigger.interval_ms)
    steps = max(0, (after - trigger.anchor) // interval + 1)
    try:
        return trigger.anchor + steps * interval
    except OverflowError:  # the calendar ends first
        return None
