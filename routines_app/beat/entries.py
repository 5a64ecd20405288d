"""The static `beat_schedule` of a Celery app, read as routines that behave as Celery runs its entries.

| the entry                           | the routine                                                                    |
| ----------------------------------- | ------------------------------------------------------------------------------ |
| task, args, kwargs, schedule        | the same; a crontab in its own timezone, else the app's                        |
| nothing about retries or limits     | one attempt, no time-out: the task's own retries and limits hold               |
| options: time_limit, else soft_time_limit | `timeout_ms`, a second at least; none where it is more than a day       |
| options: expires                    | seconds or a timedelta: `expires_ms`; a moment: `end_at`                       |
| options: queue                      | `queue`                                                                        |
| options: priority, headers, exchange, routing_key | `options`                                                        |
| routine, in the entry or its options | fields of the routine as they are called there: policies, above all           |

Other options are not carried; which, is said once. What cannot be a routine is refused with the way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab, schedule, solar
from kombu import Exchange, Queue

from routines_app.core.errors import InvalidValue, RoutineError
from routines_app.core.words import TRIGGER_FIELDS
from routines_app.verbs.declarations import Found
from routines_app.verbs.declare import check_declared

CLEANUP = "celery.backend_cleanup"
CLEANUP_EXPIRES_SECONDS = 12 * 3600  # as in Celery's own entry
MILLISECOND, SECOND, DAY = timedelta(milliseconds=1), timedelta(seconds=1), timedelta(days=1)
CARRIED = frozenset(
    {"queue", "priority", "headers", "exchange", "routing_key", "expires", "time_limit", "soft_time_limit", "routine"}
)


def read_entries(app: Celery) -> Found:
    """Every entry of the schedule. Nothing is logged or written, and no database is asked."""
    found = Found()
    for name, entry in _all_entries(app).items():
        try:
            given = _given(entry)
            options = dict(given.get("options") or {})
            fields = _fields(app, str(name), given, options)
            check_declared(fields)
            others = [*sorted(str(option) for option in options.keys() - CARRIED), *_lost_limits(options)]
        except Exception as error:  # noqa: BLE001 - whatever somebody has written there: the other entries are imported
            found.refused[str(name)] = _told(error)
            continue
        found.fields[str(name)] = fields
        if others:
            found.left_out[str(name)] = others
    return found


def _all_entries(app: Celery) -> dict[Any, Any]:
    return {**_cleanup(app), **dict(app.conf.beat_schedule or {})}


def _cleanup(app: Celery) -> dict[str, Any]:
    """Celery's own purge of old results, which schedulers with their own storage usually lose."""
    if not app.conf.result_expires or app.backend.supports_autoexpire:
        return {}
    schedule_at_four = crontab(minute="0", hour="4", app=app)
    return {CLEANUP: {"task": CLEANUP, "schedule": schedule_at_four, "options": {"expires": CLEANUP_EXPIRES_SECONDS}}}


def _told(error: Exception) -> str:
    match error:
        case RoutineError() | TypeError() | ValueError():
            return str(error)
        case KeyError():
            return f"it has no {error}"
        case _:
            return f"{type(error).__name__}: {error}"


def _fields(app: Celery, name: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "task": given["task"],
        "args": list(given.get("args") or ()),
        "kwargs": dict(given.get("kwargs") or {}),
        "queue": _name(options.get("queue")),
        "options": _message_options(options),
        "description": f"Declared as {name!r} in the beat_schedule of {app.main or 'the Celery app'}.",
        "max_attempts": 1,
        "timeout_ms": _time_limit(options),
        **_expiry(app, options.get("expires")),
        **_trigger(app, given["schedule"]),
    }
    return fields | _policies(given.get("routine")) | _policies(options.get("routine"))


def _name(entity: Any) -> str:
    """Celery takes a name, or a queue or an exchange itself."""
    return str(entity.name if isinstance(entity, Queue | Exchange) else entity or "")


def _message_options(options: dict[str, Any]) -> dict[str, Any] | None:
    said = {"priority": options.get("priority"), "headers": options.get("headers")}
    said |= {"exchange": _name(options.get("exchange")), "routing_key": options.get("routing_key")}
    return {name: value for name, value in said.items() if value not in (None, "", {})} or None


def _time_limit(options: dict[str, Any]) -> timedelta | int:
    """The hard one, behind which nothing runs on. None is 0: the task's own limits hold all the same."""
    name = "time_limit" if options.get("time_limit") else "soft_time_limit"
    limit = options.get(name)
    if not limit or _is_longer_than_a_day(limit):
        return 0
    found = _duration(name, limit)
    return max(found, SECOND) if found > timedelta(0) else found


def _is_longer_than_a_day(limit: Any) -> bool:
    """As a number: some are too large for a timedelta."""
    if isinstance(limit, timedelta):
        return limit > DAY
    return isinstance(limit, int | float) and limit > DAY.total_seconds()


def _lost_limits(options: dict[str, Any]) -> Iterator[str]:
    """Which limits of the entry do not hold, and why."""
    soft, hard = options.get("soft_time_limit"), options.get("time_limit")
    if soft and hard:
        yield "soft_time_limit (the time-out is its time_limit; give the soft one to the task itself)"
    name = "time_limit" if hard else "soft_time_limit"
    if (hard or soft) and _is_longer_than_a_day(hard or soft):
        yield f"{name} (a time-out is at most a day; give a longer limit to the task itself)"


def _expiry(app: Celery, expires: Any) -> dict[str, Any]:
    """A moment after which nothing is to run is the end of the schedule."""
    if expires is None:
        return {"expires_ms": None}
    if isinstance(expires, str):
        expires = datetime.fromisoformat(expires)
    if isinstance(expires, datetime):
        return {"expires_ms": None, "end_at": expires if expires.tzinfo else expires.replace(tzinfo=app.timezone)}
    return {"expires_ms": _duration("expires", expires)}


def _duration(name: str, value: Any) -> timedelta:
    """Celery's numbers are seconds, and parts of them; a routine has whole milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise InvalidValue(name, value, "give seconds or a timedelta")
    exact = value if isinstance(value, timedelta) else timedelta(seconds=value)
    return round(exact / MILLISECOND) * MILLISECOND


OF_THE_ENTRY = {
    "name": "the entry's own name",
    "task": "task",
    "args": "args",
    "kwargs": "kwargs",
    "queue": "options",
    "options": "options",
    **dict.fromkeys((*TRIGGER_FIELDS, "every", "at"), "schedule"),
}


def _policies(routine: Any) -> dict[str, Any]:
    if routine is None:
        return {}
    if not isinstance(routine, Mapping):
        raise InvalidValue("routine", routine, 'give fields of the routine, such as {"concurrency_policy": "FORBID"}')
    for name, where in OF_THE_ENTRY.items():
        if name in routine:
            raise InvalidValue(f"routine.{name}", routine[name], f"the entry says it itself: {where}")
    return dict(routine)


def _given(entry: Any) -> dict[str, Any]:
    match entry:
        case Mapping():
            return dict(entry)
        case ScheduleEntry():
            names = ("task", "schedule", "args", "kwargs", "options")
            return {name: getattr(entry, name) for name in names}
        case _:
            raise InvalidValue("entry", entry, "give a dictionary with a task and a schedule")


def _trigger(app: Celery, when: Any) -> dict[str, Any]:
    if isinstance(when, solar):
        raise InvalidValue(
            "schedule",
            when,
            "give a crontab or an interval: solar events are not supported; fire often, and let the"
            " task ask whether it is time",
        )
    if isinstance(when, crontab):
        return {"cron": _cron(when), "timezone": str(when.tz or app.timezone)}
    every = getattr(when, "run_every", None) if isinstance(when, schedule) else when
    if isinstance(every, bool) or not isinstance(every, int | float | timedelta):
        raise InvalidValue("schedule", when, "give a crontab, a number of seconds, a timedelta or a schedule")
    if (every if isinstance(every, timedelta) else timedelta(seconds=every)) < SECOND:
        raise InvalidValue("schedule", when, "give a second or more, and let the task itself repeat its work")
    return {"every": _duration("schedule", every)}


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
