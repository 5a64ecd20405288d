"""What makes a routine fire, and its slots: the UTC instants that fires stand for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.cron import next_fire

MAX_ENUMERATED = 10_000  # cron slots looked at in one go: a fraction of a second, far more than a claim needs
INSTANT = timedelta(microseconds=1)  # the resolution of a stored time; `x - INSTANT` makes `x` inclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class CronTrigger:
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
class ManualTrigger:
    """Fires when asked, and has no slots of its own."""


Trigger = CronTrigger | IntervalTrigger | ManualTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slots one by one. When `truncated`, later ones of the asked range are missing."""

    slots: tuple[datetime, ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Many slots in one: the first, the last and how many. When `truncated`, the range has later ones."""

    first: datetime
    last: datetime
    count: int
    truncated: bool = False


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


def count_between(trigger: Trigger, after: datetime, until: datetime, limit: int = MAX_ENUMERATED) -> Span | None:
    """The slots of `(after, until]` as one span, None when there are none.

    Intervals are counted arithmetically, however many there are; of cron slots at most `limit` are counted,
    and then the span is `truncated`.
    """
    if isinstance(trigger, IntervalTrigger):
        return _count_ticks(trigger, after, until)
    found = slots_between(trigger, after, until, limit)
    if not found.slots:
        return None
    return Span(first=found.slots[0], last=found.slots[-1], count=len(found.slots), truncated=found.truncated)


def _count_ticks(trigger: IntervalTrigger, after: datetime, until: datetime) -> Span | None:
    first = next_slot(trigger, after)
    last_moment = until if trigger.end_at is None else min(until, trigger.end_at)
    if first is None or first > last_moment:
        return None
    interval = timedelta(milliseconds=trigger.interval_ms)
    more = (last_moment - first) // interval
    return Span(first=first, last=first + more * interval, count=more + 1)


def _unbounded_slot(trigger: CronTrigger | IntervalTrigger, after: datetime) -> datetime | None:
    if isinstance(trigger, CronTrigger):
        return next_fire(trigger.expression, trigger.timezone, after)
    interval = timedelta(milliseconds=trigger.interval_ms)
    steps = max(0, (after - trigger.anchor) // interval + 1)
    try:
        return trigger.anchor + steps * interval
    except OverflowError:  # the calendar ends first
        return None
