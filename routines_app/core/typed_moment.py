"""A moment as a person types it: `03:00`, `yesterday 03:00`, `monday 03:00:30`, `2026-11-17 03:00`, `2 h ago`."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from routines_app.core.errors import InvalidValue

FIELD = "at"
EXPECTED = "give a time such as 03:00, yesterday 03:00, monday 03:00, 2026-11-17 03:00, 2 h ago, or ISO 8601"
LONGEST = 64
DAY = timedelta(days=1)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS_FROM_TODAY = {"yesterday": -1, "today": 0, "tomorrow": 1}
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(s|sec|second|m|min|minute|h|hour|d|day|w|week)s? ago", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)


def parse_moment(text: str, now: datetime, zone: tzinfo) -> datetime:
    """The moment that is meant, in UTC. What names no offset is read in `zone`, and a time alone is its last one.

    So is a weekday: a moment that has been, today's too. What has no such time, as the hour that a clock skips, is
    taken as if the clock had not been changed yet. Raises InvalidValue.
    """
    said = " ".join(text.lower().split())
    try:
        found = None if len(said) > LONGEST else _meant(said, now.astimezone(zone))
        if found is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidValue(FIELD, text, EXPECTED)


def _meant(said: str, now: datetime) -> datetime | None:
    if said == "now":
        return now
    if ago := _AGO.fullmatch(said):
        return now.astimezone(UTC) - timedelta(**{UNITS[ago[2][0]]: float(ago[1])})
    if (at := _time(said)) is not None:
        return _last(now.date(), at, now, DAY)
    words = said.split(" ")
    if len(words) == 2:
        for day, clock in (words, reversed(words)):
            if (at := _time(clock)) is not None and (found := _on(day, at, now)) is not None:
                return found
    return _iso(said, now)


def _time(word: str) -> time | None:
    found = _TIME.fullmatch(word)
    return None if found is None else time(int(found[1]), int(found[2]), int(found[3] or 0))


def _on(day: str, at: time, now: datetime) -> datetime | None:
    if day in DAYS_FROM_TODAY:
        return _local(now.date() + DAYS_FROM_TODAY[day] * DAY, at, now)
    weekday = next((place for place, name in enumerate(WEEKDAYS) if day in (name, name[:3])), None)
    if weekday is None:
        return None
    return _last(now.date() - (now.weekday() - weekday) % 7 * DAY, at, now, 7 * DAY)


def _last(day: date, at: time, now: datetime, every: timedelta) -> datetime:
    found = _local(day, at, now)
    return found if found <= now else _local(day - every, at, now)


def _local(day: date, at: time, now: datetime) -> datetime:
    return datetime.combine(day, at, tzinfo=now.tzinfo)


def _iso(said: str, now: datetime) -> datetime:
    found = datetime.fromisoformat(said.upper())
    return found.replace(tzinfo=now.tzinfo) if found.tzinfo is None else found
