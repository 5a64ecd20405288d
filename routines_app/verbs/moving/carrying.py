"""What an entry of another scheduler becomes.

| there                           | here                                                                           |
| ------------------------------- | ------------------------------------------------------------------------------ |
| crontab, with its timezone      | `cron` and `timezone`                                                          |
| interval                        | `every`; `start_at` is the old scheduler's next fire, and then it is a grid     |
| clocked, one-off                | `at`: that moment, or the old scheduler's next fire                            |
| start time                      | `start_at`: the first fire after it                                            |
| expires, a moment               | `end_at`, just before it: nothing is sent at that moment                       |
| expires, seconds                | `expires_ms`                                                                   |
| queue; priority, headers, exchange, routing key | `queue`; `options`                                             |
| disabled                        | paused                                                                         |
| what is overdue is sent once    | `catch_up_policy` LAST, with `beat_cron_starting_deadline` as its window       |
| nothing about retries or limits | one attempt, no time-out: the task's own retries and limits hold               |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery import Celery
from celery.schedules import crontab, schedule
from kombu import Exchange

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.triggers import INSTANT
from routines_app.core.words import CatchUpPolicy
from routines_app.verbs.checking.known_tasks import doubt_about
from routines_app.verbs.moving.celery_options import left_out, option_fields
from routines_app.verbs.moving.celery_schedule import trigger_fields
from routines_app.verbs.moving.old_entries import OldEntry
from routines_app.verbs.moving.old_fires import OldFires, clocked_time, is_due_at_once, is_once, old_fires

DISABLED = "disabled in {}"
GRID = "its slots are a grid that never drifts; {} counts each from when the one before was sent"
STILL_RUN = "a run that waits in its queue past {} is still started; there its message expires"


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """The routine that an entry becomes."""

    fields: dict[str, Any]
    """As `create_routine` takes them."""
    old: OldFires
    paused: str = ""
    changed: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Over:
    """It will never be sent again, so there is nothing to carry."""

    why: str


def carry(entry: OldEntry, now: datetime, app: Celery) -> Carried | Over:
    """Raises `InvalidValue` for what cannot be a routine, and whatever a schedule of somebody's own raises."""
    if (why := _why_over(entry, now)) is not None:
        return Over(why=why)
    _refuse_headers_exchange(entry.options, app)
    if not is_once(entry):
        trigger_fields(entry.schedule, str(app.timezone))  # refuses what its own computation is not worth asking for
    old = old_fires(entry, now)
    if old.first is None and old.overdue_since is None:
        return Over(why=f"{entry.scheduler} would never send it again")
    fields = {
        "name": entry.key,
        "task": entry.task,
        "args": entry.args,
        "kwargs": entry.kwargs,
        "description": entry.description or f"Moved over from {entry.scheduler}.",
        "max_attempts": 1,
        "catch_up_policy": CatchUpPolicy.LAST,
        **option_fields(entry.options, app.timezone),
        **_schedule_fields(entry, old, now, app),
    }
    return Carried(
        fields=fields,
        old=old,
        paused="" if entry.enabled else DISABLED.format(entry.scheduler),
        changed=tuple(_changes(entry)),
        cannot=tuple(left_out(entry.options)),
    )


def _why_over(entry: OldEntry, now: datetime) -> str | None:
    if entry.ends_before is not None and entry.ends_before <= now:
        return f"it ended at {entry.ends_before:%Y-%m-%d %H:%M:%S %Z}"
    if entry.was_sent:
        return "a one-off that has been sent"
    at = clocked_time(entry)
    if is_once(entry) and not entry.enabled and (at is None or at <= now):
        return f"a one-off that is disabled: {entry.scheduler} disables one when it has been sent"
    return None


def _refuse_headers_exchange(options: Mapping[str, Any], app: Celery) -> None:
    """Which queue it leads to is decided by what a message says there, and not by its routing key."""
    given = options.get("exchange")
    named = [given] if isinstance(given, Exchange) else [queue.exchange for queue in app.amqp.queues.values()]
    for exchange in named:
        if exchange.type == "headers" and given in (exchange, exchange.name):
            raise InvalidValue(
                "exchange", exchange.name, said("it is of type headers: give one of another type, or a queue")
            )


def _schedule_fields(entry: OldEntry, old: OldFires, now: datetime, app: Celery) -> dict[str, Any]:
    end = {} if entry.ends_before is None else {"end_at": entry.ends_before - INSTANT}
    if is_once(entry):
        return {"at": old.overdue_since or old.first, **end}
    fields = trigger_fields(entry.schedule, str(app.timezone)) | end
    if "every" in fields:
        return fields | {"start_at": now if old.overdue_since else old.first}
    if entry.start_at is not None:
        fields["start_at"] = old.first if entry.start_at > now else entry.start_at
    if deadline := app.conf.beat_cron_starting_deadline:
        fields["catch_up_window_ms"] = timedelta(seconds=deadline)
    return fields


def _changes(entry: OldEntry) -> Iterator[str]:
    if isinstance(entry.schedule, schedule) and not is_once(entry):
        yield GRID.format(entry.scheduler)
    if isinstance(entry.schedule, crontab) and _says_both_days(entry.schedule):
        yield "a day has to match both its fields there: it is written in another way"
    if isinstance(entry.schedule, crontab) and is_due_at_once(entry):
        yield f"{entry.scheduler} knows no last run of it and would send it at once; here it waits for its time"
    if entry.ends_before is not None:
        yield STILL_RUN.format(f"{entry.ends_before:%Y-%m-%d %H:%M:%S %Z}")
    if doubt := doubt_about(entry.task):
        yield f"task: {doubt}"


def _says_both_days(when: Any) -> bool:
    return len(when.day_of_month) < 31 and len(when.day_of_week) < 7
