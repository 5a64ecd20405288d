"""Timezones: their names, their offsets, and the instants at which an offset changes."""

from __future__ import annotations

import difflib
from datetime import MAXYEAR, UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from routines_app.core.errors import InvalidValue
from routines_app.core.listing import either
from routines_app.core.said import Said, said

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
MACHINE_ZONES = frozenset({"localtime", "Factory"})  # they mean something else on each machine
EXAMPLE = "Europe/Berlin"
LONGEST_NAME = 64  # what the column holds; looking for names that are close to a megabyte of text takes long


@lru_cache(maxsize=1024)
def zone_of(name: str) -> ZoneInfo:
    """The IANA timezone of that name; InvalidValue with the closest names when there is none."""
    if len(name) > LONGEST_NAME or name not in _zone_names():
        raise InvalidValue("timezone", name, _expected(name))
    return ZoneInfo(name)


def offset_at(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def clock_changes(zone: ZoneInfo, low: datetime, high: datetime) -> list[datetime]:
    """The instants of `(low, high]` at which the zone's offset is another than just before."""
    years = range(low.year, high.year + 1)
    return [change for year in years for change in _changes_in(zone, year) if low < change <= high]


def change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The first instant after `low`, up to `high`, at which the offset is no longer that of `low`."""
    offset, left, right = offset_at(low, zone), 0, (high - low) // SECOND
    while right - left > 1:
        middle = (left + right) // 2
        if offset_at(low + middle * SECOND, zone) == offset:
            left = middle
        else:
            right = middle
    return low + right * SECOND


@lru_cache(maxsize=4096)
def _changes_in(zone: ZoneInfo, year: int) -> tuple[datetime, ...]:
    """The changes of one year of UTC: looked for day by day once, then remembered."""
    if year == MAXYEAR:  # the calendar ends before its last day does
        return ()
    found: list[datetime] = []
    at, end = datetime(year, 1, 1, tzinfo=UTC) - SECOND, datetime(year + 1, 1, 1, tzinfo=UTC) - SECOND
    before = offset_at(at, zone)
    while at < end:
        following = at + DAY
        after = offset_at(following, zone)
        if after != before:
            found.append(change_between(at, following, zone))
        at, before = following, after
    return tuple(found)


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones()) - MACHINE_ZONES


def _expected(name: str) -> Said:
    folded = {zone.lower(): zone for zone in _zone_names()}
    close = difflib.get_close_matches(name[:LONGEST_NAME].lower(), folded, n=3)
    return said("give an IANA name such as {names}", names=either([folded[match] for match in close] or [EXAMPLE]))
