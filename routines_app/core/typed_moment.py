"""A moment as a person types it: `03:00 yesterday`, `2 h ago`, `monday 14:00`, `2026-11-17 03:00`, `tomorrow 03:00`.

It is in the timezone that the person looks at, unless the text has an offset. What stands alone means the last one
that has passed: at 02:00, `23:30` is yesterday's, and on a Tuesday `friday` is that of last week.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from routines_app.core.durations import parse_duration
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said

LONGEST = 64
EXPECTED = said("give a time such as 03:00 yesterday, 2h ago, monday 14:00 or 2026-11-17 03:00")
FIRST_YEAR, LAST_YEAR = 1900, 3000  # room on both sides: no offset leads out of the calendar

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {name[:letters]: number for number, name in enumerate(_WEEKDAYS) for letters in (3, len(name))}
_FROM_TODAY = {"yesterday": timedelta(days=-1), "today": timedelta(0), "tomorrow": timedelta(days=1)}
_NAMED_TIMES = {"midnight": time(0), "noon": time(12)}
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2})(?::([0-9]{2}))?)?\s?(am|pm)?")
_AGO = re.compile(r"(.+?)\s*ago")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_moment(field: str, text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The moment that is meant, in UTC."""
    cleaned = " ".join(text.lower().replace(",", " ").split()) if len(text) <= LONGEST else ""
    try:
        found = (_ago(cleaned, now) or _iso(cleaned, zone) or _spoken(cleaned, now, zone)) if cleaned else None
    except (ValueError, OverflowError, InvalidValue):  # well formed, and no such day, hour or duration
        found = None
    if found is None or not FIRST_YEAR < found.year < LAST_YEAR:
        raise InvalidValue(field, text, EXPECTED)
    return found


def _ago(text: str, now: datetime) -> datetime | None:
    if text == "now":
        return now
    ago = _AGO.fullmatch(text)
    return now - timedelta(milliseconds=parse_duration(ago[1])) if ago else None


def _iso(text: str, zone: tzinfo) -> datetime | None:
    """A date by itself is its midnight."""
    if not _DATE.match(text):
        return None
    found = datetime.fromisoformat(text.upper())
    return _utc(found if found.tzinfo else found.replace(tzinfo=zone))


def _spoken(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """A day and a time, in any order, or one of them."""
    words = [word for word in text.split() if word != "at"]
    day = next((word for word in words if word in _FROM_TODAY or word in _DAYS), None)
    if day is not None:
        words.remove(day)
    clock = _clock(" ".join(words)) if words or day else None
    if clock is None:
        return None
    today = now.astimezone(zone).date()
    days = _candidates(day, today)
    moments = [_utc(datetime.combine(one, clock, zone)) for one in days]
    return next((one for one in moments if one <= now), moments[0])


def _candidates(day: str | None, today: date) -> list[date]:
    """The days that may be meant, the likeliest first."""
    if day in _FROM_TODAY:
        return [today + _FROM_TODAY[day]]
    if day is None:
        return [today, today - timedelta(days=1)]
    back = timedelta(days=(today.weekday() - _DAYS[day]) % 7)
    return [today - back, today - back - timedelta(days=7)]


def _clock(text: str) -> time | None:
    """A time of the day; none said is midnight."""
    if not text:
        return time(0)
    if text in _NAMED_TIMES:
        return _NAMED_TIMES[text]
    found = _CLOCK.fullmatch(text)
    if found is None or not (found[2] or found[4]):  # a bare number could be anything
        return None
    hour = int(found[1])
    if found[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[4] == "pm" else 0)
    return time(hour, int(found[2] or 0), int(found[3] or 0))


def _utc(local: datetime) -> datetime:
    """What the clocks leave out in spring is read as if they had not changed yet; of two in autumn it is the first."""
    return local.astimezone(UTC)
