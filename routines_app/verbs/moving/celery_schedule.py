"""Celery's schedules in a routine's words, or refused with the way out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from celery.schedules import crontab, schedule, solar

from routines_app.core.errors import InvalidValue
from routines_app.verbs.moving.celery_options import SECOND, duration


def trigger_fields(when: Any, zone: str) -> dict[str, Any]:
    if isinstance(when, solar):
        raise InvalidValue(
            "schedule",
            when,
            "give a crontab or an interval: solar events are not supported; fire often, and let the"
            " task ask whether it is time",
        )
    if isinstance(when, crontab):
        return {"cron": _cron(when), "timezone": str(when.tz or zone)}
    every = getattr(when, "run_every", None) if isinstance(when, schedule) else when
    if isinstance(every, bool) or not isinstance(every, int | float | timedelta):
        raise InvalidValue("schedule", when, "give a crontab, a number of seconds, a timedelta or a schedule")
    if (every if isinstance(every, timedelta) else timedelta(seconds=every)) < SECOND:
        raise InvalidValue("schedule", when, "give a second or more, and let the task itself repeat its work")
    return {"every": duration("schedule", every)}


def _cron(when: Any) -> str:
    day, weekday = _field(when._orig_day_of_month), _field(when._orig_day_of_week)
    if day != "*" and weekday != "*":
        # Celery wants both to match, cron either: no expression says what Celery means.
        raise InvalidValue(
            "schedule",
            when,
            "give a crontab that restricts day_of_month or day_of_week, not both, and let the task look at the other",
        )
    minute, hour, month = (
        _field(when._orig_minute),
        _field(when._orig_hour),
        _field(when._orig_month_of_year),
    )
    return f"{minute} {hour} {day} {month} {weekday}"


def _field(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(str(part) for part in sorted(value))
    return str(value).replace(" ", "")
