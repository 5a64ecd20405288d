"""Lengths of time as people write them: `30s`, `10 min`, `1.5h`, `2 days`, `1h 30m`. Stored as whole milliseconds.

A bare number has no unit, and everybody takes another one for granted: Celery seconds, JavaScript milliseconds. It is
read only where the field's name says what it means (`timeout_ms`).
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from math import inf

from routines_app.core.errors import InvalidValue
from routines_app.core.said import Said, said

UNIT_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
SPELLED = {
    "w": ("w", "wk", "wks", "week", "weeks"),
    "d": ("d", "day", "days"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds"),
}
SHOWN_UNITS = ("d", "h", "m", "s", "ms")  # weeks are read, not written: `14d` is clearer than `2w`
LONGEST_TEXT = 64  # "100 years to the millisecond" in all its units is half of it
MAX_DURATION_MS = 36_525 * UNIT_MS["d"]  # a century: anything longer is a slip of the keyboard

_WORD_MS = {word: UNIT_MS[unit] for unit, words in SPELLED.items() for word in words}
# Bounded digits keep absurd input cheap to refuse.
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_PART = re.compile(rf"({_NUMBER})\s*({'|'.join(_WORD_MS)})(?![a-z])\s*")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_BARE = re.compile(_NUMBER)


def parse_duration(value: int | float | timedelta | str, *, field: str = "every") -> int:
    """Milliseconds in `value`, at least 0. A bare number is refused unless the field's name ends in `_ms`."""
    exact = _exact_ms(value, field)
    if exact.denominator != 1:
        raise InvalidValue(field, value, said("give a whole number of milliseconds"))
    if not 0 <= exact <= MAX_DURATION_MS:
        raise InvalidValue(field, value, said("give a duration between 0 and 100 years"))
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
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in (inf, -inf):
        raise InvalidValue(field, value, _expected(field))
    if not field.endswith("_ms"):
        raise InvalidValue(field, value, _say(Fraction(value), or_timedelta=True))
    return Fraction(value)


def _text_ms(text: str, field: str) -> Fraction:
    if len(text) > LONGEST_TEXT:  # before any look at it: a pattern takes seconds for megabytes
        raise InvalidValue(
            field, text, said("{expected}, in at most {most} characters", expected=_expected(field), most=LONGEST_TEXT)
        )
    cleaned = text.strip().lower()
    if _BARE.fullmatch(cleaned):
        raise InvalidValue(field, text, _say(Fraction(cleaned)))
    if not _WHOLE.fullmatch(cleaned):
        raise InvalidValue(field, text, _expected(field))
    return sum((Fraction(amount) * _WORD_MS[word] for amount, word in _PART.findall(cleaned)), Fraction(0))


def _say(number: Fraction, *, or_timedelta: bool = False) -> Said:
    """How a bare number would be written if it were seconds, as Celery's are: `say '3600s', '1h' or a timedelta`."""
    ms = number * 1000
    if ms.denominator == 1 and 0 < ms <= MAX_DURATION_MS:
        written = [f"{float(number):.15g}s", format_duration(ms.numerator)]
    else:
        written = ["30s", "1h"]
    first, *second = dict.fromkeys(f"'{text}'" for text in written)
    if or_timedelta:
        return said("say {ways} or a timedelta", ways=", ".join([first, *second]))
    return said("say {one} or {other}", one=first, other=second[0]) if second else said("say {one}", one=first)


def _expected(field: str) -> Said:
    if field.endswith("_ms"):
        return said("give milliseconds, a timedelta or text such as 30s, 10m, 1.5h, 1d or 1h30m")
    return said("give a timedelta or text such as 30s, 10m, 1.5h, 1d or 1h30m")
