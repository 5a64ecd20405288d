"""The times of day of a cron expression, in words: `Every 15 minutes`, `At 09:00`, `At minutes 0 and 40 of every hour`.

`Every 15 minutes` is said of steps that go on across the hour, and `Every 6 hours` of those that go on across the day.
`*/40` does not: it is told as the two minutes that it means.

Each message is a clause that other languages also have in one piece, and commas stand between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.in_few_words import LONG_STEPS, joined, numbers_in_words, one_run, step_of
from routines_app.admin.often import Unit, every
from routines_app.service import CronFields

SIXTY, HOURS = 60, 24
MOST_TIMES = 6  # times of day that are listed
ON_THE_DOT = (0,)


def clock_in_words(fields: CronFields) -> str:
    """The beginning of the sentence, by the smallest unit that says something."""
    if fields.seconds != ON_THE_DOT:
        return _by_the_second(fields)
    return _by_the_minute(fields) if fields.minutes != ON_THE_DOT else _by_the_hour(fields)


def _by_the_second(fields: CronFields) -> str:
    often = _every(fields.seconds, SIXTY, "second")
    if not often and (times := _times(fields)):
        return times
    always = len(fields.hours) == HOURS
    if len(fields.minutes) == SIXTY:
        return _clauses(often or _at_seconds(fields.seconds, of_every_minute=always), _in_hours(fields.hours))
    said = often or _at_seconds(fields.seconds, of_every_minute=False)
    return _clauses(said, _in_minutes(fields.minutes, of_every_hour=always), _in_hours(fields.hours))


def _by_the_minute(fields: CronFields) -> str:
    if often := _every(fields.minutes, SIXTY, "minute"):
        return _clauses(often, _in_hours(fields.hours))
    if times := _times(fields):
        return times
    always = len(fields.hours) == HOURS
    return _clauses(_at_minutes(fields.minutes, of_every_hour=always), _in_hours(fields.hours))


def _by_the_hour(fields: CronFields) -> str:
    hours = fields.hours
    if said := _every(hours, HOURS, "hour") or _times(fields):
        return said
    if one_run(hours, 0, HOURS - 1):
        return _clauses(every("hour", 1), _in_hours(hours))
    if len(hours) >= LONG_STEPS and (step := step_of(hours)):
        between = _("from {first} to {last}").format(first=f"{hours[0]:02}:00", last=f"{hours[-1]:02}:00")
        return _clauses(every("hour", step), between)
    return _clauses(_at_minutes(ON_THE_DOT, of_every_hour=False), _in_hours(hours))


def _clauses(*said: str) -> str:
    return ", ".join(clause for clause in said if clause)


def _every(values: Sequence[int], size: int, unit: Unit) -> str:
    """`Every minute`, `Every 15 minutes`; nothing where the distance is another one at the end."""
    step = size // len(values)
    if tuple(values) != tuple(range(0, size, step)) or len(values) == 1:
        return ""
    return every(unit, step)


def _times(fields: CronFields) -> str:
    """`At 09:00 and 17:30`; nothing where they are many."""
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) > MOST_TIMES:
        return ""
    tail = len("HH:MM") if fields.seconds == ON_THE_DOT else None
    all_of_them = (f"{h:02}:{m:02}:{s:02}" for h in fields.hours for m in fields.minutes for s in fields.seconds)
    return _("At {times}").format(times=joined([time[:tail] for time in all_of_them]))


def _at_seconds(values: Sequence[int], *, of_every_minute: bool) -> str:
    count = len(values)
    if of_every_minute:
        said = ngettext("At second {seconds} of every minute", "At seconds {seconds} of every minute", count)
    else:
        said = ngettext("At second {seconds}", "At seconds {seconds}", count)
    return said.format(seconds=numbers_in_words(values))


def _at_minutes(values: Sequence[int], *, of_every_hour: bool) -> str:
    count = len(values)
    if of_every_hour:
        said = ngettext("At minute {minutes} of every hour", "At minutes {minutes} of every hour", count)
    else:
        said = ngettext("At minute {minutes}", "At minutes {minutes}", count)
    return said.format(minutes=numbers_in_words(values))


def _in_minutes(values: Sequence[int], *, of_every_hour: bool) -> str:
    count = len(values)
    if of_every_hour:
        said = ngettext("in minute {minutes} of every hour", "in minutes {minutes} of every hour", count)
    else:
        said = ngettext("in minute {minutes}", "in minutes {minutes}", count)
    return said.format(minutes=numbers_in_words(values))


def _in_hours(hours: Sequence[int]) -> str:
    """`between 22:00 and 04:59`, `in hours 0, 7 and 14`; nothing of all hours."""
    if len(hours) == HOURS:
        return ""
    if run := one_run(hours, 0, HOURS - 1):
        return _("between {first} and {last}").format(first=f"{run[0]:02}:00", last=f"{run[1]:02}:59")
    return ngettext("in hour {hours}", "in hours {hours}", len(hours)).format(hours=numbers_in_words(hours))
