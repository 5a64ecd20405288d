"""The pace: how far one slot is from the next, where it is not simply what the trigger says.

A failing interval backs off. A hint replaces the interval, multiplies it, or takes every n-th slot of a cron. All of it
leaves the trigger's own slots where they are: an interval keeps its grid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    OnceTrigger,
    Trigger,
    count_between,
    next_slot,
    slot_at,
)
from routines_app.core.words import Source

MAX_DOUBLINGS = 5  # a failing interval routine slows down to at most 32 times its interval
LEAST_MS = 1_000  # as for every interval, whatever a factor makes of it
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A hinted distance between slots: a time (`every_ms`), or a number of the trigger's own slots."""

    source: Source
    expires_at: datetime
    every_ms: int = 0
    trigger: CronTrigger | IntervalTrigger | None = None
    every_nth: int = 1

    def next_after(self, moment: datetime) -> datetime | None:
        """The next moment, counted from this one; None when it would be after the expiry."""
        if self.trigger is None:
            return later(moment, self.every_ms)
        coming = count_between(self.trigger, moment, self.expires_at)
        if coming is None or coming.count < self.every_nth:
            return None
        return slot_at(self.trigger, coming, self.every_nth - 1)

    def not_before(self, moment: datetime) -> datetime | None:
        """The first moment that the lower clamp allows."""
        return moment if self.trigger is None else next_slot(self.trigger, moment - INSTANT)


def pace_of(
    trigger: Trigger,
    failure_count: int,
    *,
    interval_ms: int | None,
    interval_expires_at: datetime | None,
    factor: float | None,
    factor_expires_at: datetime | None,
) -> Pace | None:
    """What the hints make of the pace together; None when nothing is hinted, or there is nothing to multiply."""
    if isinstance(trigger, OnceTrigger):  # another trigger may have been hinted
        return None
    if interval_ms is not None and interval_expires_at is not None:
        if factor is None or factor_expires_at is None:
            return Pace(source=Source.HINT_INTERVAL, expires_at=interval_expires_at, every_ms=interval_ms)
        both = min(interval_expires_at, factor_expires_at)
        return Pace(source=Source.HINT_FACTOR, expires_at=both, every_ms=_times(interval_ms, factor))
    if factor is None or factor_expires_at is None or isinstance(trigger, ManualTrigger):
        return None
    hinted = Pace(source=Source.HINT_FACTOR, expires_at=factor_expires_at)
    if isinstance(trigger, CronTrigger):  # another trigger may have had a fraction
        return replace(hinted, trigger=trigger, every_nth=max(1, round(factor)))
    times = factor * 2 ** doublings(failure_count)
    if times >= 1 and times == int(times):
        return replace(hinted, trigger=trigger, every_nth=int(times))
    return replace(hinted, every_ms=_times(trigger.interval_ms, times))


def _times(interval_ms: int, factor: float) -> int:
    return max(LEAST_MS, round(interval_ms * factor))


def backed_off(trigger: IntervalTrigger, failure_count: int, anchor: datetime) -> IntervalTrigger:
    """The interval of a failing routine from the anchor on: every second, fourth … slot of the same grid."""
    interval = timedelta(milliseconds=trigger.interval_ms)
    steps = max(0, (anchor - trigger.anchor) // interval)
    slower = trigger.interval_ms * 2 ** doublings(failure_count)
    return replace(trigger, interval_ms=slower, anchor=trigger.anchor + steps * interval)


def doublings(failure_count: int) -> int:
    return max(0, min(failure_count, MAX_DOUBLINGS))


def later(moment: datetime, ms: int) -> datetime:
    try:
        return moment + timedelta(milliseconds=ms)
    except OverflowError:  # the calendar ends first
        return _NEVER
