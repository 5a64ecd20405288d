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

from collections.abc import Iterator, Mapping
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab, maybe_schedule

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import TRIGGER_FIELDS
from routines_app.verbs.declarations import Found
from routines_app.verbs.declare import check_declared
from routines_app.verbs.moving.celery_options import left_out, option_fields
from routines_app.verbs.moving.celery_schedule import trigger_fields
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler, Problem
from routines_app.verbs.moving.problems import told

CLEANUP = "celery.backend_cleanup"
CLEANUP_EXPIRES_SECONDS = 12 * 3600  # as in Celery's own entry


def read_beat_schedule(app: Celery) -> Found:
    """Every entry of the schedule. Nothing is logged or written, and no database is asked."""
    found = Found()
    for name, entry in _all_entries(app).items():
        try:
            given = _given(entry)
            options = dict(given.get("options") or {})
            fields = _fields(app, str(name), given, options)
            check_declared(fields)
            others = left_out(options)
        except Exception as error:  # noqa: BLE001 - whatever somebody has written there: the other entries are imported
            found.refused[str(name)] = told(error)
            continue
        found.fields[str(name)] = fields
        if others:
            found.left_out[str(name)] = others
    return found


def entries(app: Celery) -> Iterator[OldEntry | Problem]:
    """The same, as Celery's own beat has them: for a comparison with what they become."""
    for name, entry in _all_entries(app).items():
        try:
            yield _old_entry(app, str(name), _given(entry))
        except Exception as error:  # noqa: BLE001 - as above
            yield Problem(key=str(name), why=told(error))


def imported_names(app: Celery) -> set[str]:
    """What our beats make routines of by themselves, under these names."""
    return {str(name) for name in _all_entries(app)} if get_settings().import_beat_schedule else set()


def _old_entry(app: Celery, name: str, given: dict[str, Any]) -> OldEntry:
    return OldEntry(
        scheduler=OldScheduler.BEAT_SCHEDULE,
        key=name,
        task=str(given["task"]),
        args=list(given.get("args") or ()),
        kwargs=dict(given.get("kwargs") or {}),
        schedule=maybe_schedule(given["schedule"], bool(given.get("relative")), app=app),
        options=dict(given.get("options") or {}),
    )


def _all_entries(app: Celery) -> dict[Any, Any]:
    return {**_cleanup(app), **dict(app.conf.beat_schedule or {})}


def _cleanup(app: Celery) -> dict[str, Any]:
    """Celery's own purge of old results, which schedulers with their own storage usually lose."""
    if not app.conf.result_expires or app.backend.supports_autoexpire:
        return {}
    schedule_at_four = crontab(minute="0", hour="4", app=app)
    return {CLEANUP: {"task": CLEANUP, "schedule": schedule_at_four, "options": {"expires": CLEANUP_EXPIRES_SECONDS}}}


def _fields(app: Celery, name: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "task": given["task"],
        "args": list(given.get("args") or ()),
        "kwargs": dict(given.get("kwargs") or {}),
        "description": f"Declared as {name!r} in the beat_schedule of {app.main or 'the Celery app'}.",
        "max_attempts": 1,
        **option_fields(options, app.timezone),
        **trigger_fields(given["schedule"], str(app.timezone)),
    }
    return fields | _policies(given.get("routine")) | _policies(options.get("routine"))


OF_THE_ENTRY = {
    "name": said("the entry's own name"),
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
        raise InvalidValue(
            "routine", routine, said('give fields of the routine, such as {"concurrency_policy": "FORBID"}')
        )
    for name, where in OF_THE_ENTRY.items():
        if name in routine:
            raise InvalidValue(f"routine.{name}", routine[name], said("the entry says it itself: {where}", where=where))
    return dict(routine)


def _given(entry: Any) -> dict[str, Any]:
    match entry:
        case Mapping():
            return dict(entry)
        case ScheduleEntry():
            names = ("task", "schedule", "args", "kwargs", "options")
            return {name: getattr(entry, name) for name in names}
        case _:
            raise InvalidValue("entry", entry, said("give a dictionary with a task and a schedule"))
