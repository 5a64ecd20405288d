"""The days that the two day fields of a cron expression name, by what is the same in every month."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass

from routines_app.core.cron_values import DAY, WEEKDAY

LAST = -1  # the month's last day, and the last of its weekdays; `L-3` is 3 less
UNRESTRICTED = ("*", "?")

_FROM_THE_END = re.compile(r"L(?:-(?P<before>[1-9]|[12][0-9]|30))?")
_NEAREST = re.compile(r"(?P<day>[0-9]{1,2}|L)W")
_TO_THE_LAST = re.compile(r"([0-9]{1,2})-L((?:/[0-9]{1,2})?)")
_NTH = re.compile(r"(?P<days>[0-9A-Z]{1,3}(?:-[0-9A-Z]{1,3})?)#(?P<nth>[1-5])")
_LAST_OF_WEEKDAY = re.compile(r"(?P<day>[0-9]|[A-Z]{3})L")


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Which days match: by their date, by their weekday, or by both."""

    dates: frozenset[int]
    """Days of the month; `LAST` stands for the month's last day, `LAST - 3` for the third before it."""
    near: frozenset[int]
    """Dates whose nearest working day is meant; the 31st stands for the last working day of any month."""
    weekdays: frozenset[int]
    """0 is Sunday."""
    nth_weekdays: frozenset[tuple[int, int]]
    """Pairs of weekday and which one of the month, `LAST` for the last."""
    either: bool
    """Day-of-month and day-of-week are both restricted, so a day matches when one of them does. As in
    crontab(5) a field that begins with `*` is no restriction in this sense: `*/2` narrows the other field."""

    def of_month(self, year: int, month: int) -> tuple[int, ...]:
        """The matching days of one month."""
        first, length = calendar.monthrange(year, month)
        shift = first + 1  # calendar's Monday is 0, cron's Sunday is
        near = {_nearest_working_day(min(day, length), shift, length) for day in self.near}
        return tuple(day for day in range(1, length + 1) if self._matches(day, (shift + day - 1) % 7, length, near))

    def _matches(self, day: int, weekday: int, length: int, near: set[int]) -> bool:
        by_date = day in self.dates or day in near or day - length + LAST in self.dates
        by_week = (
            weekday in self.weekdays
            or (weekday, (day + 6) // 7) in self.nth_weekdays
            or (day + 7 > length and (weekday, LAST) in self.nth_weekdays)
        )
        return by_date or by_week if self.either else by_date and by_week


def read_days(day: str, weekday: str, expression: str) -> Days:
    """The days of both fields, or InvalidValue saying which item is wrong."""
    dates, near = _read_dates("*" if day == "?" else day, expression)
    weekdays, nth = _read_weekdays("*" if weekday == "?" else weekday, expression)
    return Days(
        dates=dates,
        near=near,
        weekdays=weekdays,
        nth_weekdays=nth,
        either=not (day.startswith(UNRESTRICTED) or weekday.startswith(UNRESTRICTED)),
    )


def _read_dates(text: str, expression: str) -> tuple[frozenset[int], frozenset[int]]:
    dates, near = set[int](), set[int]()
    for item in text.split(","):
        if match := _FROM_THE_END.fullmatch(item):
            dates.add(LAST - int(match["before"] or 0))
        elif match := _NEAREST.fullmatch(item):
            # A working day nearest to a date that the month does not have is that nearest to its last day.
            near.update(DAY.item("31" if match["day"] == "L" else match["day"], item, expression))
        else:
            dates.update(DAY.item(_TO_THE_LAST.sub(r"\1-31\2", item), item, expression))
    return frozenset(dates), frozenset(near)


def _read_weekdays(text: str, expression: str) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    weekdays, nth = set[int](), set[tuple[int, int]]()
    for item in text.split(","):
        if match := _NTH.fullmatch(item):
            nth.update((day, int(match["nth"])) for day in WEEKDAY.item(match["days"], item, expression))
        elif match := _LAST_OF_WEEKDAY.fullmatch(item):
            nth.update((day, LAST) for day in WEEKDAY.item(match["day"], item, expression))
        else:
            weekdays.update(WEEKDAY.item(item, item, expression))
    return frozenset(weekdays), frozenset(nth)


def _nearest_working_day(day: int, shift: int, length: int) -> int:
    """Monday to Friday, within the month: the 1st on a Saturday moves to the 3rd, a last Sunday to the Friday."""
    weekday = (shift + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day
