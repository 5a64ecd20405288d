"""The static `beat_schedule` of a Celery app, read as routines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab, schedule, solar
from kombu import Queue

from routines_app.core.errors import InvalidValue

logger = logging.getLogger(__name__)

CLEANUP = "celery.backend_cleanup"
CLEANUP_EXPIRES_SECONDS = 12 * 3600  # as in Celery's own entry


def declared_entries(app: Celery) -> dict[str, dict[str, Any]]:
    """Each entry's name and the fields of its routine. An entry that cannot be one is logged and left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, entry in _all_entries(app).items():
        try:
            found[str(name)] = _fields(app, str(name), entry)
        except (InvalidValue, TypeError, KeyError, ValueError) as error:
            logger.error("beat_schedule entry %r is not imported: %s", name, error)
    return found


def declared_names(app: Celery) -> list[str]:
    """Every entry of the schedule, also those that cannot be imported: their routines are declared all the same."""
    return [str(name) for name in _all_entries(app)]


def _all_entries(app: Celery) -> dict[Any, Any]:
    return {**_cleanup(app), **dict(app.conf.beat_schedule or {})}


def _cleanup(app: Celery) -> dict[str, Any]:
    """Celery's own purge of old results, which schedulers with their own storage usually lose."""
    if not app.conf.result_expires or app.backend.supports_autoexpire:
        return {}
    schedule_at_four = crontab(minute="0", hour="4", app=app)
    return {CLEANUP: {"task": CLEANUP, "schedule": schedule_at_four, "options": {"expires": CLEANUP_EXPIRES_SECONDS}}}


def _fields(app: Celery, name: str, entry: Mapping[str, Any] | ScheduleEntry) -> dict[str, Any]:
    given = dict(entry) if isinstance(entry, Mapping) else _of_entry(entry)
    options = dict(given.get("options") or {})
    fields = {
        "task": given["task"],
        "args": list(given.get("args") or ()),
        "kwargs": dict(given.get("kwargs") or {}),
        "queue": _queue_name(options.get("queue")),
        "description": f"Declared as {name!r} in the beat_schedule of {app.main or 'the Celery app'}.",
        **_trigger(app, given["schedule"]),
    }
    if isinstance(options.get("expires"), int | float):
        fields["expires_ms"] = int(options["expires"] * 1000)
    return fields


def _queue_name(queue: Any) -> str:
    """Celery takes a name, or a queue itself."""
    return str(queue.name if isinstance(queue, Queue) else queue or "")


def _of_entry(entry: ScheduleEntry) -> dict[str, Any]:
    return {
        "task": entry.task,
        "schedule": entry.schedule,
        "args": entry.args,
        "kwargs": entry.kwargs,
        "options": entry.options,
    }


def _trigger(app: Celery, when: Any) -> dict[str, Any]:
    if isinstance(when, solar):
        raise InvalidValue("schedule", when, "a crontab or an interval; solar schedules are not supported")
    if isinstance(when, crontab):
        return {"cron": _cron(when), "timezone": str(when.tz or app.timezone)}
    if isinstance(when, schedule):
        return {"every": getattr(when, "run_every")}  # noqa: B009 - the stubs do not know it
    if isinstance(when, int | float | timedelta):
        return {"every": when if isinstance(when, timedelta) else timedelta(seconds=when)}
    raise InvalidValue("schedule", when, "a crontab, a number of seconds, a timedelta or a schedule")


def _cron(when: Any) -> str:
    day, weekday = _field(when._orig_day_of_month), _field(when._orig_day_of_week)
    if day != "*" and weekday != "*":
        # Celery wants both to match, cron either: no expression says what Celery means.
        raise InvalidValue("schedule", when, "a crontab that restricts day_of_month or day_of_week, not both")
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
