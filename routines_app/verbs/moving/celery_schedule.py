"""Celery's schedules in a routine's words, or refused with the way out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from celery.schedules import crontab, schedule, solar

from routines_app.core.cron_values import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Field
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.verbs.moving.celery_options import SECOND, duration

WEEKS = {nth: frozenset(range(7 * nth - 6, 7 * nth + 1)) for nth in range(1, 5)}
"""The days of the month on which a weekday is its first, second, third or fourth."""


def trigger_fields(when: Any, zone: str) -> dict[str, Any]:
    """The fields of a routine's trigger; a crontab that says no timezone is in that one."""
    if isinstance(when, solar):
        raise InvalidValue(
            "schedule",
            when,
            said(
                "give a crontab or an interval: solar events are not supported; fire often, and let the"
                " task ask whether it is time"
            ),
        )
    if isinstance(when, crontab):
        return {"cron": _cron(when), "timezone": str(when.tz or zone)}
    every = getattr(when, "run_every", None) if isinstance(when, schedule) else when
    if isinstance(every, bool) or not isinstance(every, int | float | timedelta):
        raise InvalidValue("schedule", when, said("give a crontab, a number of seconds, a timedelta or a schedule"))
    if (every if isinstance(every, timedelta) else timedelta(seconds=every)) < SECOND:
        raise InvalidValue("schedule", when, said("give a second or more, and let the task itself repeat its work"))
    return {"every": duration("schedule", every)}


def _cron(when: Any) -> str:
    minute = _field(when._orig_minute, when.minute, MINUTE)
    hour = _field(when._orig_hour, when.hour, HOUR)
    month = _field(when._orig_month_of_year, when.month_of_year, MONTH)
    day, weekday = _days(when)
    return f"{minute} {hour} {day} {month} {weekday}"


def _days(when: Any) -> tuple[str, str]:
    """Celery wants both to match, cron either one, unless a field begins with a star."""
    day, weekday = (
        "*" if len(values) == field.size else _field(written, values, field)
        for written, values, field in (
            (when._orig_day_of_month, when.day_of_month, DAY),
            (when._orig_day_of_week, when.day_of_week, WEEKDAY),
        )
    )
    if day.startswith("*") or weekday.startswith("*"):
        return day, weekday
    weeks = [nth for nth, days in WEEKS.items() if days <= when.day_of_month]
    if frozenset().union(*(WEEKS[nth] for nth in weeks)) == when.day_of_month:
        return "*", ",".join(f"{number}#{nth}" for number in sorted(when.day_of_week) for nth in weeks)
    raise InvalidValue(
        "schedule",
        when,
        said("give a crontab that restricts day_of_month or day_of_week, not both, and let the task look at the other"),
    )


def _field(written: Any, values: Iterable[int], field: Field) -> str:
    """As it is written, where that means the same here; else value by value."""
    if isinstance(written, Iterable) and not isinstance(written, str):
        return _listed(written)
    text = str(written).replace(" ", "")
    try:
        is_same = field.values(text.upper(), text) == frozenset(values)
    except InvalidValue:
        is_same = False
    return text if is_same else _listed(values)


def _listed(values: Iterable[int]) -> str:
    return ",".join(str(value) for value in sorted(values))
