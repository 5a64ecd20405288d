"""Lengths of time as people write them: `30s`, `10m`, `1.5h`, `1d`, `1h30m`. Stored as whole milliseconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction

from routines_app.core.errors import InvalidValue

UNIT_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
SHOWN_UNITS = ("d", "h", "m", "s", "ms")  # weeks are read, not written: `14d` is clearer than `2w`
LONGEST_TEXT = 64  # "100 years to the millisecond" in all its units is half of it
MAX_DURATION_MS = 36_525 * UNIT_MS["d"]  # a century: anything longer is a slip of the keyboard

# Bounded digits keep absurd input cheap to refuse.
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?(ms|w|d|h|m|s) ?")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_EXPECTED = "give milliseconds, a timedelta or text such as 30s, 10m, 1.5h, 1d or 1h30m"


def parse_duration(value: int | float | timedelta | str, *, field: str = "every") -> int:
    """Milliseconds in `value`, at least 0. A number means milliseconds; text needs a unit."""
    exact = _exact_ms(value, field)
    if exact.denominator != 1:
        raise InvalidValue(field, value, "give a whole number of milliseconds")
    if not 0 <= exact <= MAX_DURATION_MS:
        raise InvalidValue(field, value, "give a duration between 0 and 100 years")
    return exact.numerator


def format_duration(ms: int) -> str:
    """`5400000` as `1h 30m`: readable, and `parse_duration` reads it back."""
    parts, rest = [], ms
    for unit in SHOWN_UNITS:
        amount, rest = divmod(rest, UNIT_MS[unit])
        if amount:
            parts.append(f"{amount}{unit}")
    return " ".join(parts) or "0s"


def _exact_ms(value: object, field: str) -> Fraction:
    if isinstance(value, timedelta):
        return Fraction(value // timedelta(microseconds=1), 1000)
    if isinstance(value, str):
        return _text_ms(value, field)
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    raise InvalidValue(field, value, _EXPECTED)


def _text_ms(text: str, field: str) -> Fraction:
    if len(text) > LONGEST_TEXT:  # before any look at it: a pattern takes seconds for megabytes
        raise InvalidValue(field, text, f"{_EXPECTED}, in at most {LONGEST_TEXT} characters")
    cleaned = text.strip().lower()
    if not _WHOLE.fullmatch(cleaned):
        raise InvalidValue(field, text, _EXPECTED)
    return sum((Fraction(amount) * UNIT_MS[unit] for amount, unit in _PART.findall(cleaned)), Fraction(0))
