"""What Celery is told about a message, in a routine's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

from kombu import Exchange, Queue

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said

MILLISECOND, SECOND, DAY = timedelta(milliseconds=1), timedelta(seconds=1), timedelta(days=1)
CARRIED = frozenset(
    {"queue", "priority", "headers", "exchange", "routing_key", "expires", "time_limit", "soft_time_limit", "routine"}
)


def option_fields(options: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """The fields of a routine that its messages' options come to; moments without a zone are in that one."""
    return {
        "queue": _name(options.get("queue")),
        "options": _message_options(options),
        "timeout_ms": _time_limit(options),
        **_expiry(options.get("expires"), zone),
    }


def left_out(options: Mapping[str, Any]) -> list[str]:
    """The options that no field comes of, some with the reason."""
    return [*sorted(str(option) for option in options.keys() - CARRIED), *_lost_limits(options)]


def _name(entity: Any) -> str:
    """Celery takes a name, or a queue or an exchange itself."""
    return str(entity.name if isinstance(entity, Queue | Exchange) else entity or "")


def _message_options(options: Mapping[str, Any]) -> dict[str, Any] | None:
    given_options = {"priority": options.get("priority"), "headers": options.get("headers")}
    given_options |= {"exchange": _name(options.get("exchange")), "routing_key": options.get("routing_key")}
    return {name: value for name, value in given_options.items() if value not in (None, "", {})} or None


def _time_limit(options: Mapping[str, Any]) -> timedelta | int:
    """The hard one, behind which nothing runs on. None is 0: the task's own limits hold all the same."""
    name = "time_limit" if options.get("time_limit") else "soft_time_limit"
    limit = options.get(name)
    if not limit or _is_longer_than_a_day(limit):
        return 0
    found = duration(name, limit)
    return max(found, SECOND) if found > timedelta(0) else found


def _is_longer_than_a_day(limit: Any) -> bool:
    """As a number: some are too large for a timedelta."""
    if isinstance(limit, timedelta):
        return limit > DAY
    return isinstance(limit, int | float) and limit > DAY.total_seconds()


def _lost_limits(options: Mapping[str, Any]) -> Iterator[str]:
    """Which limits of the entry do not hold, and why."""
    soft, hard = options.get("soft_time_limit"), options.get("time_limit")
    if soft and hard:
        yield "soft_time_limit (the time-out is its time_limit; give the soft one to the task itself)"
    name = "time_limit" if hard else "soft_time_limit"
    if (hard or soft) and _is_longer_than_a_day(hard or soft):
        yield f"{name} (a time-out is at most a day; give a longer limit to the task itself)"


def _expiry(expires: Any, zone: tzinfo) -> dict[str, Any]:
    """A moment after which nothing is to run is the end of the schedule."""
    if expires is None:
        return {"expires_ms": None}
    if isinstance(expires, str):
        expires = datetime.fromisoformat(expires)
    if isinstance(expires, datetime):
        return {"expires_ms": None, "end_at": expires if expires.tzinfo else expires.replace(tzinfo=zone)}
    return {"expires_ms": duration("expires", expires)}


def duration(name: str, value: Any) -> timedelta:
    """Celery's numbers are seconds, and parts of them; a routine has whole milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise InvalidValue(name, value, said("give seconds or a timedelta"))
    exact = value if isinstance(value, timedelta) else timedelta(seconds=value)
    return round(exact / MILLISECOND) * MILLISECOND
