"""The strict reading of a cron expression: which values each field allows.

ASCII only; 5 fields, or 6 with seconds first; `@daily`-style names; month and weekday names; lists, ranges
(`22-4` wraps) and steps. Days of the month also as `L`, `L-3`, `25-L`, `15W` and `LW`, weekdays as `FRI#2`,
`MON-FRI#1` and `5L`, either as `?`. Everything else is refused with the field's name, years, hashed and
random forms included: a slot must be the same whoever computes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from routines_app.core.cron_days import Days, read_days
from routines_app.core.cron_values import HOUR, MINUTE, MONTH, SECOND
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MAX_LENGTH = 200  # what the column holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The values of each field, sorted, and what the way they were written means."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    elapsed: bool
    """The minute or the hour begins with `*`, so the schedule follows elapsed time when clocks change."""


def read_fields(expression: str) -> Fields:
    """The fields of `expression`, or InvalidValue saying which field is wrong."""
    second, minute, hour, day, month, weekday = split_fields(expression)
    return Fields(
        seconds=tuple(sorted(SECOND.values(second, expression))),
        minutes=tuple(sorted(MINUTE.values(minute, expression))),
        hours=tuple(sorted(HOUR.values(hour, expression))),
        days=read_days(day, weekday, expression),
        months=tuple(sorted(MONTH.values(month, expression))),
        elapsed=minute.startswith("*") or hour.startswith("*"),
    )


def split_fields(expression: str) -> list[str]:
    """The texts of the six fields, in capitals; a name is spelled out, and without seconds they are 0."""
    if not expression.isascii() or len(expression) > MAX_LENGTH:
        raise InvalidValue("cron", expression, said("use at most {most} plain ASCII characters", most=MAX_LENGTH))
    text = expression.strip()
    if text.startswith("@"):
        text = NICKNAMES.get(text.lower(), text)
    parts = text.upper().split()
    if len(parts) == 7:
        raise InvalidValue("cron", expression, said("leave the year out: give 6 fields, and start_at or end_at"))
    if len(parts) not in (5, 6) or text.startswith("@"):
        names = ", ".join(NICKNAMES)
        raise InvalidValue(
            "cron", expression, said("give 5 fields, 6 with seconds first, or one of {names}", names=names)
        )
    return parts if len(parts) == 6 else ["0", *parts]
