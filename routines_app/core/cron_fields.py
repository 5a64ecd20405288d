"""The strict reading of a cron expression: which values each field allows.

ASCII only; 5 fields, or 6 with seconds first; `@daily`-style names; month and weekday names; lists, ranges
and steps; `L` as the last day of the month; `5#2` (second Friday) and `5L` (last Friday) as weekdays.
Everything else is refused with the field's name, hashed and random forms included: a slot must be the same
whoever computes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from routines_app.core.errors import InvalidValue

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
LAST = -1  # the `L` of `L` and `5L`
MAX_LENGTH = 255  # what the column holds

_ITEM = re.compile(r"(?:(?P<star>\*)|(?P<low>[0-9A-Z]{1,3})(?:-(?P<high>[0-9A-Z]{1,3}))?)(?:/(?P<step>[0-9]{1,2}))?")
_NTH_WEEKDAY = re.compile(r"(?P<day>[0-7]|[A-Z]{3})(?:#(?P<nth>[1-5])|L)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One position of an expression: its name and what may stand there."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int | None:
        """The value that `text` stands for, or None when it stands for nothing in this field."""
        if text in self.names:
            return self.names.index(text) + self.low
        value = int(text) if text.isdigit() and len(text) <= 2 else -1
        return value if self.low <= value <= self.high else None

    @property
    def allowed(self) -> str:
        names = f" or {self.names[0]}-{self.names[-1]}" if self.names else ""
        return f"the {self.name} field takes {self.low}-{self.high}{names}, with lists, ranges and steps"


SECOND = Field(name="second", low=0, high=59)
MINUTE = Field(name="minute", low=0, high=59)
HOUR = Field(name="hour", low=0, high=23)
DAY = Field(name="day-of-month", low=1, high=31)
MONTH = Field(name="month", low=1, high=12, names=MONTH_NAMES)
WEEKDAY = Field(name="day-of-week", low=0, high=7, names=WEEKDAY_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The values of each field, sorted, and what the way they were written means."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    """Days of the month; `LAST` stands for the month's last day."""
    months: tuple[int, ...]
    weekdays: frozenset[int]
    """0 is Sunday."""
    nth_weekdays: frozenset[tuple[int, int]]
    """Pairs of weekday and which one of the month, `LAST` for the last."""
    either_day: bool
    """Day-of-month and day-of-week are both restricted, so a day matches when one of them does. As in
    crontab(5) a field that begins with `*` is no restriction in this sense: `*/2` narrows the other field."""
    elapsed: bool
    """The hours are a wildcard or a step, so the schedule follows elapsed time when clocks change."""


def read_fields(expression: str) -> Fields:
    """The fields of `expression`, or InvalidValue saying which field is wrong."""
    texts = _split(expression)
    second, minute, hour, day, month, weekday = texts
    days, last_day = _take_last_day(day)
    weekdays, nth = _take_nth_weekdays(weekday, expression)
    hours = _values(HOUR, hour, expression)
    return Fields(
        seconds=_values(SECOND, second, expression),
        minutes=_values(MINUTE, minute, expression),
        hours=hours,
        days=frozenset(_values(DAY, days, expression) if days else ()) | last_day,
        months=_values(MONTH, month, expression),
        weekdays=frozenset(value % 7 for value in (_values(WEEKDAY, weekdays, expression) if weekdays else ())),
        nth_weekdays=nth,
        either_day=not (day.startswith("*") or weekday.startswith("*")),
        elapsed="*" in hour or "/" in hour or len(hours) == 24,
    )


def _split(expression: str) -> list[str]:
    if not expression.isascii() or len(expression) > MAX_LENGTH:
        raise InvalidValue("cron", expression, f"use at most {MAX_LENGTH} plain ASCII characters")
    text = expression.strip()
    if text.startswith("@"):
        text = NICKNAMES.get(text.lower(), text)
    parts = text.upper().split()
    if len(parts) not in (5, 6) or text.startswith("@"):
        names = ", ".join(NICKNAMES)
        raise InvalidValue("cron", expression, f"give 5 fields, 6 with seconds first, or one of {names}")
    return parts if len(parts) == 6 else ["0", *parts]


def _take_last_day(text: str) -> tuple[str, frozenset[int]]:
    """The day-of-month list without `L`, and what `L` adds."""
    items = text.split(",")
    rest = [item for item in items if item != "L"]
    return ",".join(rest), frozenset({LAST}) if len(rest) < len(items) else frozenset()


def _take_nth_weekdays(text: str, expression: str) -> tuple[str, frozenset[tuple[int, int]]]:
    """The day-of-week list without `5#2` and `5L` forms, and those forms as pairs."""
    rest, pairs = [], set()
    for item in text.split(","):
        if (match := _NTH_WEEKDAY.fullmatch(item)) is None:
            rest.append(item)
            continue
        if (day := WEEKDAY.number(match["day"])) is None:
            raise InvalidValue("cron", expression, WEEKDAY.allowed)
        pairs.add((day % 7, int(match["nth"]) if match["nth"] else LAST))
    return ",".join(rest), frozenset(pairs)


def _values(field: Field, text: str, expression: str) -> tuple[int, ...]:
    values: set[int] = set()
    for item in text.split(","):
        span = _span(field, item)
        if span is None:
            raise InvalidValue("cron", expression, f"{item!r} is wrong: {field.allowed}")
        values.update(span)
    return tuple(sorted(values))


def _span(field: Field, item: str) -> range | None:
    """The values of one list item, or None when it is not well formed."""
    if (match := _ITEM.fullmatch(item)) is None:
        return None
    low, high = _ends(field, match)
    step = int(match["step"]) if match["step"] else 1
    if low is None or high is None or low > high or not 1 <= step <= field.high:
        return None
    return range(low, high + 1, step)


def _ends(field: Field, match: re.Match[str]) -> tuple[int | None, int | None]:
    top = 6 if field is WEEKDAY else field.high  # 7 is a second name for Sunday, not an eighth day
    if match["star"]:
        return field.low, top
    low = field.number(match["low"])
    if match["high"] is None:
        return low, top if match["step"] else low
    high = field.number(match["high"])
    ends_on_sunday = field is WEEKDAY and high == 0 and low != 0
    return low, 7 if ends_on_sunday else high  # `SAT-SUN` ends on the Sunday after
