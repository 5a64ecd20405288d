"""The days and months of a cron expression, in words: `on the 13th and every Friday`, `in February`.

The same day is a message of its own in each place that it can have in a sentence (the context says which: `on which
days`, `if it is`), because other languages change the word with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from routines_app.admin.in_few_words import LONG_RANGE, Piece, either, joined, one_run, pieces_of
from routines_app.service import CronFields

ON_NUMBERED = {
    1: pgettext_lazy("on which days", "the first {weekday} of the month"),
    2: pgettext_lazy("on which days", "the second {weekday} of the month"),
    3: pgettext_lazy("on which days", "the third {weekday} of the month"),
    4: pgettext_lazy("on which days", "the fourth {weekday} of the month"),
    5: pgettext_lazy("on which days", "the fifth {weekday} of the month"),
    -1: pgettext_lazy("on which days", "the last {weekday} of the month"),
}
IF_NUMBERED = {
    1: pgettext_lazy("if it is", "the first {weekday} of the month"),
    2: pgettext_lazy("if it is", "the second {weekday} of the month"),
    3: pgettext_lazy("if it is", "the third {weekday} of the month"),
    4: pgettext_lazy("if it is", "the fourth {weekday} of the month"),
    5: pgettext_lazy("if it is", "the fifth {weekday} of the month"),
    -1: pgettext_lazy("if it is", "the last {weekday} of the month"),
}
DAYS_OF_A_WEEK = len(WEEKDAYS)
EVERY_DATE = frozenset(range(1, 32))
IN_EVERY_MONTH = 28
LAST_WORKING_DAY = 31  # as `CronFields` has it: the working day nearest to the end of any month


def days_in_words(fields: CronFields) -> str:
    """`on the 13th and every Friday`, `Monday to Friday`; nothing of every day."""
    days = fields.days
    any_date, any_weekday = days.dates >= EVERY_DATE, len(days.weekdays) == DAYS_OF_A_WEEK
    if (any_date and any_weekday) or (days.either and (any_date or any_weekday)):
        return ""
    if any_date:
        return _by_weekday(fields, alone=True)
    dates = _on(_dates(fields))
    if any_weekday:
        return dates
    if days.either:
        return joined([dates, _by_weekday(fields, alone=False)])
    return _("{dates}, but only if it is {days}").format(dates=dates, days=either(_if_weekdays(fields)))


def months_in_words(fields: CronFields) -> str:
    """`in February`, `from November to February`; nothing of all months."""
    months = fields.months
    if len(months) == 12:
        return ""
    if (run := one_run(months, 1, 12)) and len(months) >= LONG_RANGE:
        return pgettext("months", "from {first} to {last}").format(first=MONTHS[run[0]], last=MONTHS[run[1]])
    return pgettext("months", "in {months}").format(months=joined([str(MONTHS[month]) for month in months]))


def _on(days: Sequence[str]) -> str:
    return pgettext("on which days", "on {days}").format(days=joined(days))


def _dates(fields: CronFields) -> list[str]:
    """`the 1st`, `the 15th to 20th`, `the last day of the month`, `the working day nearest the 15th`."""
    from_the_front = sorted(date for date in fields.days.dates if date > 0)
    from_the_end = sorted((date for date in fields.days.dates if date < 0), reverse=True)
    return [
        *(_from_the_front(piece) for piece in pieces_of(from_the_front)),
        *(_before_the_end(-1 - date) for date in from_the_end),
        *(_near(date) for date in sorted(fields.days.near)),
    ]


def _from_the_front(piece: Piece) -> str:
    said = [_date(value) for value in piece]
    match len(said):
        case 1:
            return pgettext("on which days", "the {day}").format(day=said[0])
        case 2:
            return pgettext("on which days", "the {first} to {last}").format(first=said[0], last=said[1])
        case _many:
            return pgettext("on which days", "the {first}, {second}, {third} … {last}").format(
                first=said[0], second=said[1], third=said[2], last=said[3]
            )


def _before_the_end(days: int) -> str:
    if days == 0:
        return pgettext("on which days", "the last day of the month")
    if days == 1:
        return pgettext("on which days", "the day before the month's last")
    return pgettext("on which days", "the {nth} day before the month's last").format(nth=_nth(days))


def _near(date: int) -> str:
    if date == 1:
        return pgettext("on which days", "the first working day of the month")
    if date == LAST_WORKING_DAY:
        return pgettext("on which days", "the last working day of the month")
    if date <= IN_EVERY_MONTH:
        return pgettext("on which days", "the working day nearest the {day}").format(day=_date(date))
    return pgettext("on which days", "the working day nearest the {day} or the end of a shorter month").format(
        day=_date(date)
    )


def _by_weekday(fields: CronFields, *, alone: bool) -> str:
    """`every Friday`, `Monday to Friday` (`every Monday to Friday` beside dates), `on the last Friday of the month`."""
    weekdays = sorted(fields.days.weekdays)
    numbered = [ON_NUMBERED[nth].format(weekday=_weekday(day)) for day, nth in _numbered(fields)]
    every = [_every_weekday(weekdays, alone=alone and not numbered)] if weekdays else []
    return joined([*every, *([_on(numbered)] if numbered else [])])


def _every_weekday(weekdays: Sequence[int], *, alone: bool) -> str:
    if run := _long_run(weekdays):
        first, last = _weekday(run[0]), _weekday(run[1])
        if alone:
            return pgettext("on which days", "{first} to {last}").format(first=first, last=last)
        return pgettext("on which days", "every {first} to {last}").format(first=first, last=last)
    named = joined([_weekday(day) for day in _from_monday(weekdays)])
    return pgettext("on which days", "every {weekdays}").format(weekdays=named)


def _if_weekdays(fields: CronFields) -> list[str]:
    weekdays = sorted(fields.days.weekdays)
    numbered = [IF_NUMBERED[nth].format(weekday=_weekday(day)) for day, nth in _numbered(fields)]
    if run := _long_run(weekdays):
        said = pgettext("if it is", "{first} to {last}").format(first=_weekday(run[0]), last=_weekday(run[1]))
        return [said, *numbered]
    each = [pgettext("if it is", "a {weekday}").format(weekday=_weekday(day)) for day in _from_monday(weekdays)]
    return [*each, *numbered]


def _numbered(fields: CronFields) -> list[tuple[int, int]]:
    return sorted(fields.days.nth_weekdays, key=lambda pair: (pair[1] % 10, pair[0]))  # the last ones at the end


def _long_run(weekdays: Sequence[int]) -> tuple[int, int] | None:
    return one_run(weekdays, 0, DAYS_OF_A_WEEK - 1) if len(weekdays) >= LONG_RANGE else None


def _from_monday(weekdays: Iterable[int]) -> list[int]:
    return sorted(weekdays, key=_place_in_week)


def _weekday(day: int) -> str:
    return str(WEEKDAYS[_place_in_week(day)])


def _place_in_week(day: int) -> int:
    """Cron's weeks begin on Sunday, Django's on Monday."""
    return (day - 1) % DAYS_OF_A_WEEK


def _date(day: int) -> str:
    """`1st`, `22nd`, `13th`: the first is a message of its own, for other languages have an ending for it alone."""
    if day == 1:
        return pgettext("day of the month", "1st")
    match _ending(day):
        case 1:
            return pgettext("day of the month", "{day}st").format(day=day)
        case 2:
            return pgettext("day of the month", "{day}nd").format(day=day)
        case 3:
            return pgettext("day of the month", "{day}rd").format(day=day)
        case _other:
            return pgettext("day of the month", "{day}th").format(day=day)


def _nth(number: int) -> str:
    """The same of what is counted."""
    match _ending(number):
        case 1:
            return pgettext("which of several", "{number}st").format(number=number)
        case 2:
            return pgettext("which of several", "{number}nd").format(number=number)
        case 3:
            return pgettext("which of several", "{number}rd").format(number=number)
        case _other:
            return pgettext("which of several", "{number}th").format(number=number)


def _ending(number: int) -> int:
    """The figure that English puts an ending of its own to; 0: it is `th`."""
    return 0 if number in (11, 12, 13) or number % 10 > 3 else number % 10
