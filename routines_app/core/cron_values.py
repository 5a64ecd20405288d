"""The values of one field of a cron expression: numbers, names, lists, ranges that may wrap, and steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from routines_app.core.errors import InvalidValue
from routines_app.core.listing import either
from routines_app.core.said import Said, said, together

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_ITEM = re.compile(r"(?:(?P<star>\*)|(?P<low>[0-9A-Z]{1,3})(?:-(?P<high>[0-9A-Z]{1,3}))?)(?:/(?P<step>[0-9]{1,2}))?")
_HASHED = re.compile(r"[HR](?:[(/].*)?|.*~.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One position of an expression: what it is called, and what may stand there."""

    called: Said
    low: int
    high: int
    names: tuple[str, ...] = ()
    again: int = 0
    """How many values at the end are second names of the first ones: 7 is Sunday, not an eighth day."""
    also: Said | None = None

    @property
    def size(self) -> int:
        return self.high - self.low + 1 - self.again

    @property
    def top(self) -> int:
        return self.high - self.again

    @property
    def allowed(self) -> Said:
        ranges = [f"{self.low}-{self.high}", *([f"{self.names[0]}-{self.names[-1]}"] if self.names else [])]
        allowed = said("{field} takes {ranges}, with lists, ranges and steps", field=self.called, ranges=either(ranges))
        return allowed if self.also is None else together("; ", [allowed, self.also])

    def number(self, text: str) -> int | None:
        """The value that `text` stands for, or None when it stands for nothing in this field."""
        if text in self.names:
            return self.names.index(text) + self.low
        value = int(text) if text.isdigit() and len(text) <= 2 else -1
        return value if self.low <= value <= self.high else None

    def values(self, text: str, expression: str) -> frozenset[int]:
        """Everything that a list allows, or InvalidValue saying which of its items is wrong."""
        found: set[int] = set()
        for item in text.split(","):
            found.update(self.item(item, item, expression))
        return frozenset(found)

    def item(self, item: str, written: str, expression: str) -> Sequence[int]:
        """The values of one list item. The error shows it as it was written."""
        span = self._span(item)
        if span is None:
            raise self.refused(written, expression)
        if span[-1] <= self.top:
            return span
        return [self.low + (value - self.low) % self.size for value in span]

    def refused(self, item: str, expression: str) -> InvalidValue:
        right = self.allowed
        if _HASHED.fullmatch(item):
            right = said("write the value itself (a slot is the same whoever computes it) and spread runs by jitter_ms")
        elif "?" in item:
            right = said(
                "`?` stands alone, as a day-of-month or day-of-week that is not restricted; write `*` elsewhere"
            )
        return InvalidValue("cron", expression, said("{item!r} is wrong: {right}", item=item, right=right))

    def _span(self, item: str) -> range | None:
        """The values of one list item, on beyond the field's end if it wraps; None when it is not well formed."""
        if (match := _ITEM.fullmatch(item)) is None:
            return None
        low, high = self._ends(match)
        step = int(match["step"]) if match["step"] else 1
        if low is None or high is None or not 1 <= step <= self.high:
            return None
        if low > self.top:
            low, high = low - self.size, self.low + (high - self.low) % self.size
        return range(low, (high if low <= high else high + self.size) + 1, step)

    def _ends(self, match: re.Match[str]) -> tuple[int | None, int | None]:
        if match["star"]:
            return self.low, self.top
        low = self.number(match["low"])
        if match["high"] is None:
            return low, self.top if match["step"] else low
        return low, self.number(match["high"])


SECOND = Field(called=said("the second field"), low=0, high=59)
MINUTE = Field(called=said("the minute field"), low=0, high=59)
HOUR = Field(called=said("the hour field"), low=0, high=23)
DAY = Field(called=said("the day-of-month field"), low=1, high=31, also=said("L, L-3, 25-L, 15W and LW too"))
MONTH = Field(called=said("the month field"), low=1, high=12, names=MONTH_NAMES)
WEEKDAY = Field(
    called=said("the day-of-week field"),
    low=0,
    high=7,
    names=WEEKDAY_NAMES,
    again=1,
    also=said("FRI#2, MON-FRI#1 and 5L (the last Friday) too"),
)
