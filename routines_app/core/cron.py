"""When a cron expression fires, in a timezone, through daylight saving.

The rule is Debian's, decided by how the minute and the hour are written:

* Neither begins with `*` (`30 2 * * *`, `0 8-18 * * *`, `0 0/2 * * *`): they name times on the wall. A time that
  the spring gap swallows fires at the first instant after the gap (several such times make one fire); a time that
  the autumn repeat shows twice fires the first time.
* One of them does (`*/15 * * * *`, `0 */2 * * *`, `*/15 0-6 * * *`): elapsed time. Each instant whose reading of
  the local clock matches is a fire, in both passes of a repeat, and a gap has no readings. In a zone that shifts
  by 30 minutes an hourly schedule therefore keeps its minute on the wall.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from routines_app.core.cron_fields import Fields, read_fields
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.zones import DAY, EXAMPLE, SECOND, change_between, offset_at, zone_of

SEARCH_YEARS = 41  # 29 February on a given weekday can take 40 years around a century that is not a leap year
REFERENCE_DAY = datetime(2000, 1, 1)  # noqa: DTZ001 - wall time; a whole cycle of leap days and weekdays follows
CACHED_FIRES = 16_384  # a burst asks for the same few slots many times


@dataclass(frozen=True, slots=True, eq=False)
class CronExpression:
    """A parsed expression. Equal texts give the same object, so identity is its equality."""

    text: str
    fields: Fields

    def first_from(self, wall: datetime) -> datetime | None:
        """The first matching wall time at or after `wall` (naive, whole seconds)."""
        today = wall.date()
        clock = self._clock_from(wall.hour, wall.minute, wall.second)
        if clock is not None and self._has_day(today):
            return datetime(today.year, today.month, today.day, *clock)  # noqa: DTZ001 - wall time
        later = self._day_after(today)
        if later is None:
            return None
        first = self.fields
        return datetime(*later, first.hours[0], first.minutes[0], first.seconds[0])  # noqa: DTZ001 - wall time

    def last_before(self, wall: datetime) -> datetime | None:
        """The last matching wall time before `wall` (naive, whole seconds)."""
        today = wall.date()
        earlier = self._clocks_before(wall) if self._has_day(today) else 0
        day = (today.year, today.month, today.day) if earlier else self._day_before(today)
        if day is None:
            return None
        return datetime(*day, *self._clock_at((earlier or self._clocks) - 1))  # noqa: DTZ001 - wall time

    def count_between(self, low: datetime, high: datetime) -> int:
        """How many wall times match from `low` on and before `high`: counted by months, days and times of day."""
        if low >= high:
            return 0
        return (
            self._counted_in_month(high) - self._counted_in_month(low) + self._clocks * self._days_in_months(low, high)
        )

    def _counted_in_month(self, wall: datetime) -> int:
        """The matches before `wall` in its own month."""
        if wall.month not in self.fields.months:
            return 0
        days = _matching_days(self, wall.year, wall.month)
        before = bisect_left(days, wall.day)
        today = self._clocks_before(wall) if before < len(days) and days[before] == wall.day else 0
        return before * self._clocks + today

    def _days_in_months(self, low: datetime, high: datetime) -> int:
        """The matching days of the months from that of `low` on, that of `high` not included."""
        return sum(
            len(_matching_days(self, year, month))
            for year in range(low.year, high.year + 1)
            for month in self.fields.months
            if (low.year, low.month) <= (year, month) < (high.year, high.month)
        )

    @property
    def _clocks(self) -> int:
        """How many times of day match."""
        return len(self.fields.hours) * len(self.fields.minutes) * len(self.fields.seconds)

    def _clocks_before(self, wall: datetime) -> int:
        """How many of them come before that of `wall`."""
        hours, minutes, seconds = self.fields.hours, self.fields.minutes, self.fields.seconds
        found = bisect_left(hours, wall.hour) * len(minutes) * len(seconds)
        if wall.hour not in hours:
            return found
        found += bisect_left(minutes, wall.minute) * len(seconds)
        return found + bisect_left(seconds, wall.second) if wall.minute in minutes else found

    def _clock_at(self, place: int) -> tuple[int, int, int]:
        """The matching time of day at that place in their order."""
        rest, second = divmod(place, len(self.fields.seconds))
        hour, minute = divmod(rest, len(self.fields.minutes))
        return self.fields.hours[hour], self.fields.minutes[minute], self.fields.seconds[second]

    def _clock_from(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        """The first matching time of day at or after the given one, or None when the day has no more."""
        hours, minutes, seconds = self.fields.hours, self.fields.minutes, self.fields.seconds
        if hour in hours:
            if minute in minutes and (at := bisect_left(seconds, second)) < len(seconds):
                return hour, minute, seconds[at]
            if (at := bisect_left(minutes, minute + 1)) < len(minutes):
                return hour, minutes[at], seconds[0]
        if (at := bisect_left(hours, hour + 1)) < len(hours):
            return hours[at], minutes[0], seconds[0]
        return None

    def _has_day(self, day: date) -> bool:
        return day.month in self.fields.months and day.day in _matching_days(self, day.year, day.month)

    def _day_after(self, day: date) -> tuple[int, int, int] | None:
        for year in range(day.year, min(day.year + SEARCH_YEARS, MAXYEAR) + 1):
            for month in self.fields.months:
                if (year, month) < (day.year, day.month):
                    continue
                days = _matching_days(self, year, month)
                behind = day.day if (year, month) == (day.year, day.month) else 0
                if (at := bisect_left(days, behind + 1)) < len(days):
                    return year, month, days[at]
        return None

    def _day_before(self, day: date) -> tuple[int, int, int] | None:
        for year in range(day.year, max(day.year - SEARCH_YEARS, MINYEAR) - 1, -1):
            for month in reversed(self.fields.months):
                if (year, month) > (day.year, day.month):
                    continue
                days = _matching_days(self, year, month)
                ahead = day.day if (year, month) == (day.year, day.month) else 32
                if (at := bisect_left(days, ahead)) > 0:
                    return year, month, days[at - 1]
        return None


def parse_cron(expression: str) -> CronExpression:
    """The parsed `expression`; InvalidValue when it is wrong or can never fire."""
    if not isinstance(expression, str):  # input may be anything, and the cache wants something hashable
        raise InvalidValue("cron", expression, said("give text such as '0 9 * * MON-FRI'"))
    return _parsed(expression)


@lru_cache(maxsize=4096)
def _parsed(expression: str) -> CronExpression:
    parsed = CronExpression(text=expression, fields=read_fields(expression))
    if parsed.first_from(REFERENCE_DAY) is None:
        raise InvalidValue("cron", expression, said("this day never comes: give days that exist in those months"))
    return parsed


def next_fire(expression: str, timezone: str, after: datetime) -> datetime | None:
    """The first fire strictly later than `after`, in UTC; None when the calendar ends before it."""
    # The two passes of a repeat are equal to the cache, which knows nothing of `fold`: in UTC they are not.
    return _next_fire(expression, timezone, after if after.tzinfo is UTC else after.astimezone(UTC))


@lru_cache(maxsize=CACHED_FIRES)
def _next_fire(expression: str, timezone: str, after: datetime) -> datetime | None:
    cron, zone = parse_cron(expression), zone_of(timezone)
    start = after.replace(microsecond=0)
    try:
        return _elapsed_fire(cron, zone, start) if cron.fields.elapsed else _fixed_fire(cron, zone, start)
    except OverflowError:
        return None


def validate_timezone(name: str) -> str:
    """`name` when it is an IANA timezone; InvalidValue with the closest names otherwise."""
    if not isinstance(name, str):
        raise InvalidValue("timezone", name, said("give an IANA name such as {names}", names=EXAMPLE))
    zone_of(name)
    return name


def _fixed_fire(cron: CronExpression, zone: ZoneInfo, after: datetime) -> datetime | None:
    wall = after.astimezone(zone).replace(tzinfo=None, fold=0)
    while (found := cron.first_from(wall + SECOND)) is not None:
        fire = _instant(found, zone)
        if fire > after:
            return fire
        wall = found  # `after` is in the second pass of a repeat, and `found` fired in the first
    return None


def _elapsed_fire(cron: CronExpression, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Walk from one change of the offset to the next; between two, wall time is UTC plus a constant."""
    start = after + SECOND
    while True:
        offset = offset_at(start, zone)
        wall = cron.first_from((start + offset).replace(tzinfo=None))
        if wall is None:
            return None
        fire = wall.replace(tzinfo=UTC) - offset
        near = min(fire, start + DAY)
        if offset_at(near, zone) != offset:
            start = change_between(start, near, zone)
        elif fire == near:
            return fire
        else:
            start = fire - DAY  # nothing on the wall matches until then; look for changes close to the fire


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a wall time: the first of two, or the end of the gap that swallows it."""
    before = wall.replace(tzinfo=zone).astimezone(UTC)
    after = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    # Inside a gap the later offset (fold=1) gives the earlier instant; only there.
    return change_between(after, before, zone) if after < before else before


@lru_cache(maxsize=16_384)
def _matching_days(cron: CronExpression, year: int, month: int) -> tuple[int, ...]:
    return cron.fields.days.of_month(year, month)
