"""The days and months of a cron expression, in words: `on the 13th and every Friday`, `in February`."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence

from routines_app.admin.listing import LONG_RANGE, joined, listed, one_run
from routines_app.service import CronFields

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
WHICH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
EVERY_DATE = frozenset(range(1, 32))
IN_EVERY_MONTH = 28
LAST_WORKING_DAY = 31  # as `CronFields` has it: the working day nearest to the end of any month


def days_in_words(fields: CronFields) -> str:
    """`on the 13th and every Friday`, `Monday to Friday`; nothing of every day."""
    days = fields.days
    any_date, any_weekday = days.dates >= EVERY_DATE, len(days.weekdays) == len(WEEKDAYS)
    if (any_date and any_weekday) or (days.either and (any_date or any_weekday)):
        return ""
    if any_date:
        return _by_weekday(fields, alone=True)
    dates = f"on {joined(_dates(fields))}"
    if any_weekday:
        return dates
    if days.either:
        return f"{dates} and {_by_weekday(fields, alone=False)}"
    return f"{dates}, but only if it is {joined(_if_weekdays(fields), 'or')}"


def months_in_words(fields: CronFields) -> str:
    """`in February`, `from November to February`; nothing of all months."""
    months = fields.months
    if len(months) == 12:
        return ""
    if (run := one_run(months, 1, 12)) and len(months) >= LONG_RANGE:
        return f"from {_month(run[0])} to {_month(run[1])}"
    return f"in {joined([_month(month) for month in months])}"


def _dates(fields: CronFields) -> list[str]:
    """`the 1st`, `the 15th to 20th`, `the last day of the month`, `the working day nearest the 15th`."""
    from_the_front = sorted(date for date in fields.days.dates if date > 0)
    from_the_end = sorted((date for date in fields.days.dates if date < 0), reverse=True)
    return [
        *(f"the {piece}" for piece in listed(from_the_front, _ordinal)),
        *(_before_the_end(-1 - date) for date in from_the_end),
        *(_near(date) for date in sorted(fields.days.near)),
    ]


def _before_the_end(days: int) -> str:
    if days == 0:
        return "the last day of the month"
    return "the day before the month's last" if days == 1 else f"the {_ordinal(days)} day before the month's last"


def _near(date: int) -> str:
    if date == 1:
        return "the first working day of the month"
    if date == LAST_WORKING_DAY:
        return "the last working day of the month"
    said = f"the working day nearest the {_ordinal(date)}"
    return said if date <= IN_EVERY_MONTH else f"{said} or the end of a shorter month"


def _by_weekday(fields: CronFields, *, alone: bool) -> str:
    """`every Friday`, `Monday to Friday` (`every Monday to Friday` beside dates), `on the last Friday of the month`."""
    weekdays = sorted(fields.days.weekdays)
    numbered = joined(_numbered(fields))
    if not weekdays:
        return f"on {numbered}"
    run = _long_run(weekdays)
    named = run or joined([WEEKDAYS[day] for day in _from_monday(weekdays)])
    every = named if run and alone and not numbered else f"every {named}"
    return f"{every} and on {numbered}" if numbered else every


def _if_weekdays(fields: CronFields) -> list[str]:
    weekdays = sorted(fields.days.weekdays)
    run = _long_run(weekdays)
    return [*([run] if run else [f"a {WEEKDAYS[day]}" for day in _from_monday(weekdays)]), *_numbered(fields)]


def _numbered(fields: CronFields) -> list[str]:
    in_order = sorted(fields.days.nth_weekdays, key=lambda pair: (pair[1] % 10, pair[0]))  # the last ones at the end
    return [f"the {WHICH[nth]} {WEEKDAYS[day]} of the month" for day, nth in in_order]


def _long_run(weekdays: Sequence[int]) -> str:
    run = one_run(weekdays, 0, len(WEEKDAYS) - 1) if len(weekdays) >= LONG_RANGE else None
    return f"{WEEKDAYS[run[0]]} to {WEEKDAYS[run[1]]}" if run else ""


def _from_monday(weekdays: Iterable[int]) -> list[int]:
    return sorted(weekdays, key=lambda day: (day - 1) % len(WEEKDAYS))


def _month(month: int) -> str:
    return calendar.month_name[month]


def _ordinal(number: int) -> str:
    ending = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
