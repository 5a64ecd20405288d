"""How many fires a cron expression has in a time, and which is the last: by arithmetic, however many there are.

The rule is that of `cron.py`, looked at from the other side. A time is cut where the zone's offset changes; within
one piece the wall is UTC plus a constant, and matching wall times are counted by months, days and times of day.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from routines_app.core.cron import CronExpression, parse_cron
from routines_app.core.zones import DAY, SECOND, clock_changes, offset_at, zone_of

LONGEST_REPEAT = 2 * DAY  # a clock never goes back by more: zones that crossed the date line repeated one day


def count_fires(expression: str, timezone: str, after: datetime, until: datetime) -> int:
    """How many fires there are later than `after` and not later than `until`."""
    cron = parse_cron(expression)
    pieces = _pieces(cron, zone_of(timezone), _second_after(after), _second_after(until))
    return sum(cron.count_between(piece.low, piece.high) + piece.fires_after_gap for piece in pieces)


def last_fire(expression: str, timezone: str, after: datetime, until: datetime) -> datetime | None:
    """The last fire later than `after` and not later than `until`."""
    cron = parse_cron(expression)
    for piece in reversed(list(_pieces(cron, zone_of(timezone), _second_after(after), _second_after(until)))):
        wall = cron.last_before(piece.high)
        if wall is not None and wall >= piece.low:
            return wall.replace(tzinfo=UTC) - piece.offset
        if piece.fires_after_gap:
            return piece.begin
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A time of one offset: what matches on the wall from `low` on and before `high` fires in it."""

    begin: datetime
    offset: timedelta
    low: datetime
    high: datetime
    fires_after_gap: bool = False
    """The clock has skipped what matches, and it fires at `begin`."""


def _pieces(cron: CronExpression, zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[_Piece]:
    """The pieces of `[begin, end)`. They begin a little earlier: what the clock shows twice fires the first time."""
    if begin >= end:
        return
    early = begin if cron.fields.elapsed else begin - LONGEST_REPEAT
    cuts = [early, *clock_changes(zone, early, end - SECOND), end]
    shown: datetime | None = None  # the first time of day that the pieces before have not shown
    for start, stop in pairwise(cuts):
        offset = offset_at(start, zone)
        if stop > begin:
            yield _piece(cron, offset, max(start, begin), stop, shown, begins_at_change=start >= begin)
        shown = None if cron.fields.elapsed else _wall(stop, offset)


def _piece(
    cron: CronExpression,
    offset: timedelta,
    begin: datetime,
    end: datetime,
    shown: datetime | None,
    *,
    begins_at_change: bool,
) -> _Piece:
    low, high = _wall(begin, offset), _wall(end, offset)
    if shown is None:
        return _Piece(begin=begin, offset=offset, low=low, high=high)
    # Several times that one gap swallows make one fire, and so do they and the time at which it ends.
    swallowed = begins_at_change and cron.count_between(shown, low) > 0 and cron.count_between(low, low + SECOND) == 0
    return _Piece(begin=begin, offset=offset, low=max(low, shown), high=high, fires_after_gap=swallowed)


def _wall(instant: datetime, offset: timedelta) -> datetime:
    return (instant + offset).replace(tzinfo=None)


def _second_after(moment: datetime) -> datetime:
    """Fires are whole seconds: one is later than the moment from here on."""
    return moment.astimezone(UTC).replace(microsecond=0) + SECOND
