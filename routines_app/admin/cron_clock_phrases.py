"""The times of day of a cron expression, in words: `Every 15 minutes`, `At 09:00`, `At minutes 0 and 40 of every hour`.

`Every 15 minutes` is said of steps that go on across the hour, and `Every 6 hours` of those that go on across the day.
`*/40` does not: it is told as the two minutes that it means.
"""

from __future__ import annotations

from collections.abc import Sequence

from routines_app.admin.listing import LONG_STEPS, joined, listed, one_run, step_of
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
    said = often or f"At {_named('second', fields.seconds)}"
    if len(fields.minutes) == SIXTY:
        return said + _in_hours(fields.hours, "" if often else " of every minute")
    return f"{said}, in {_named('minute', fields.minutes)}" + _in_hours(fields.hours, " of every hour")


def _by_the_minute(fields: CronFields) -> str:
    if often := _every(fields.minutes, SIXTY, "minute"):
        return often + _in_hours(fields.hours)
    return _times(fields) or f"At {_named('minute', fields.minutes)}" + _in_hours(fields.hours, " of every hour")


def _by_the_hour(fields: CronFields) -> str:
    hours = fields.hours
    if said := _every(hours, HOURS, "hour") or _times(fields):
        return said
    if one_run(hours, 0, HOURS - 1):
        return f"Every hour{_in_hours(hours)}"
    if len(hours) >= LONG_STEPS and (step := step_of(hours)):
        return f"Every {step} hours, from {hours[0]:02}:00 to {hours[-1]:02}:00"
    return f"At minute 0{_in_hours(hours)}"


def _every(values: Sequence[int], size: int, unit: str) -> str:
    """`Every minute`, `Every 15 minutes`; nothing where the distance is another one at the end."""
    step = size // len(values)
    if tuple(values) != tuple(range(0, size, step)) or len(values) == 1:
        return ""
    return f"Every {unit}" if step == 1 else f"Every {step} {unit}s"


def _times(fields: CronFields) -> str:
    """`At 09:00 and 17:30`; nothing where they are many."""
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) > MOST_TIMES:
        return ""
    tail = len("HH:MM") if fields.seconds == ON_THE_DOT else None
    every = (f"{h:02}:{m:02}:{s:02}" for h in fields.hours for m in fields.minutes for s in fields.seconds)
    return f"At {joined([time[:tail] for time in every])}"


def _in_hours(hours: Sequence[int], in_all: str = "") -> str:
    """`, between 22:00 and 04:59`, `, in hours 0, 7 and 14`, or what is said of all hours."""
    if len(hours) == HOURS:
        return in_all
    if run := one_run(hours, 0, HOURS - 1):
        return f", between {run[0]:02}:00 and {run[1]:02}:59"
    return f", in {_named('hour', hours)}"


def _named(unit: str, values: Sequence[int]) -> str:
    return f"{unit}{'s' if len(values) > 1 else ''} {joined(listed(values))}"
