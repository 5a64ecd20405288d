"""Where croniter reads a cron expression otherwise, and why: on purpose, each of them.

Most schedulers of this field compute by croniter, so whoever comes from one of them may be used to what it does.
"""

from __future__ import annotations

import re

from routines_app.core.cron_fields import split_fields
from routines_app.core.cron_values import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field
from routines_app.core.said import said

NARROWS = said(
    "a day field that begins with `*` narrows the other one, as in crontab(5); croniter takes days that match either"
)
ONE_VALUE = said("a range from a value to itself is that value; croniter takes it for the whole field")
STEPS_ON = said("the step of a range that wraps goes on across the end; croniter begins it anew")
NEAREST = said("a nearest working day and a weekday match either, as two restricted day fields do; croniter wants both")
NTH = said("a day-of-month and a numbered weekday match either, as two restricted day fields do; croniter wants both")
EVERY_DAY = said("a day field that lists every day matches every day; croniter leaves the days to the other field")
UNKNOWN = said("the two read one of its forms differently")

_FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_RANGE = re.compile(r"(?P<low>\w+)(?:-(?P<high>\w+))?(?:/(?P<step>[0-9]+))?(?:#[1-5])?")
_FREE = ("*", "?")


def difference(expression: str) -> str:
    """The reason for which croniter may read a valid expression otherwise."""
    texts = split_fields(expression)
    by_range = [
        reason
        for field, text in zip(_FIELDS, texts, strict=True)
        for item in text.split(",")
        if (reason := _by_range(field, item))
    ]
    return by_range[0] if by_range else _by_days(texts[3], texts[5])


def _by_range(field: Field, item: str) -> str:
    match = _RANGE.fullmatch(item.replace("-L", f"-{DAY.high}"))
    if match is None or not (match["high"] or match["step"]):
        return ""
    low, high = field.number(match["low"]), field.number(match["high"]) if match["high"] else field.top
    if low is None or high is None:
        return ""  # `L-3`
    first, last = (low - field.low) % field.size, (high - field.low) % field.size
    if first == last:
        return ONE_VALUE
    return STEPS_ON if first > last and int(match["step"] or 1) > 1 else ""


def _by_days(day: str, weekday: str) -> str:
    if day in _FREE or weekday in _FREE:
        return UNKNOWN
    if day.startswith("*") or weekday.startswith("*"):
        return NARROWS
    if "W" in day:
        return NEAREST
    if "#" in weekday:
        return NTH
    return EVERY_DAY if "*" in day + weekday else UNKNOWN
