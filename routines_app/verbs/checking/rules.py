"""What one field accepts. A rule is called with the field's name and a value and returns what is stored."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from routines_app.core.cron import parse_cron, validate_timezone
from routines_app.core.durations import format_duration, parse_duration
from routines_app.core.errors import InvalidValue
from routines_app.core.listing import either
from routines_app.core.said import Said, said

SECOND = 1_000
DAY = 86_400 * SECOND
YEAR = 366 * DAY
MAX_LIST = 100  # entries of a list field: more is a mistake, not a configuration
# The calendar leaves room on both sides, so that adding any accepted duration cannot overflow.
EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)

Rule = Callable[[str, Any], Any]
_EXCEPTION_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Printable text of a bounded length."""

    longest: int
    required: bool = False
    lines: bool = False
    """Line breaks and tabs are allowed."""

    def __call__(self, field: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.longest or (self.required and not value.strip()):
            raise InvalidValue(field, value, self._expected())
        refused = next((character for character in value if not self._is_printable(character)), None)
        if refused is not None:
            expected = said(
                "{expected}, without control characters or lone surrogates such as {character}",
                expected=self._expected(),
                character=code_point(refused),
            )
            raise InvalidValue(field, value, expected)
        return value if self.lines else value.strip()

    def _expected(self) -> Said:
        if self.required:
            return said("give text of at most {most} characters, not empty", most=self.longest)
        return said("give text of at most {most} characters", most=self.longest)

    def _is_printable(self, character: str) -> bool:
        return (self.lines and character in "\n\r\t") or unicodedata.category(character) not in ("Cc", "Cs")


def code_point(character: str) -> str:
    """How an error shows what a screen does not."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def is_storable(text: str) -> bool:
    """Databases refuse NUL characters and lone surrogates."""
    try:
        text.encode()  # refuses surrogates too, and reads megabytes in no time
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A timedelta, text such as `10m`, or milliseconds if the field's name says so; between two bounds."""

    least: int
    most: int
    or_none: bool = False
    """0 says that there is none."""

    def __call__(self, field: str, value: Any) -> int:
        ms = parse_duration(value, field=field)
        if self.or_none and not ms:
            return ms
        if not self.least <= ms <= self.most:
            raise InvalidValue(field, value, self._expected())
        return ms

    def _expected(self) -> Said:
        bounds = {"least": format_duration(self.least), "most": format_duration(self.most)}
        if self.or_none:
            return said("give a duration between {least} and {most}, or 0 for none", **bounds)
        return said("give a duration between {least} and {most}", **bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer:
    least: int
    most: int

    def __call__(self, field: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise InvalidValue(
                field, value, said("give a whole number between {least} and {most}", least=self.least, most=self.most)
            )
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    least: float
    most: float

    def __call__(self, field: str, value: Any) -> float:
        # Comparing is exact: an integer too large for a float is refused as any other, and so is what is not finite.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not self.least <= value <= self.most:
            raise InvalidValue(
                field, value, said("give a number between {least:g} and {most:g}", least=self.least, most=self.most)
            )
        return float(value)


@dataclass(frozen=True, slots=True)
class Word:
    """One of the words of an enumeration, in any case."""

    words: type[StrEnum]

    def __call__(self, field: str, value: Any) -> str:
        known = {word.value.upper(): word.value for word in self.words}
        if not isinstance(value, str) or value.upper() not in known:
            raise InvalidValue(field, value, said("give one of {these}", these=", ".join(known.values())))
        return known[value.upper()]


@dataclass(frozen=True, slots=True)
class Maybe:
    """None, for "not set", or what the other rule accepts."""

    rule: Rule

    def __call__(self, field: str, value: Any) -> Any:
        return None if value is None or value == "" else self.rule(field, value)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A short list of different values."""

    rule: Rule

    def __call__(self, field: str, value: Any) -> list[Any]:
        if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
            raise InvalidValue(field, value, said("give a list"))
        if len(value) > MAX_LIST:
            raise InvalidValue(field, value, said("give at most {most} entries", most=MAX_LIST))
        ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return list(dict.fromkeys(self.rule(field, entry) for entry in ordered))


def flag(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(field, value, said("give True or False"))
    return value


def moment(field: str, value: Any) -> datetime:
    """A point in time, also as ISO 8601 text; without a timezone it could mean many, so that is refused."""
    if isinstance(value, str):
        with suppress(ValueError):  # well formed, and no such day
            value = parse_datetime(value) or value
    if not isinstance(value, datetime) or value.tzinfo is None or value.utcoffset() is None:
        raise InvalidValue(
            field, value, said("give a datetime with a timezone, or such text: 2030-01-31T18:00:00+01:00")
        )
    if not EARLIEST <= value <= LATEST:
        raise InvalidValue(
            field, value, said("give a datetime between {first} and {last}", first=EARLIEST.year, last=LATEST.year)
        )
    return value.astimezone(UTC)


def typed_moment(field: str, text: str) -> datetime:
    """ISO 8601, as a person types it; without an offset it is in the current timezone."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise InvalidValue(field, text, said("give a date and time such as 2030-01-31T18:00:00+01:00"))
    return make_aware(found) if is_naive(found) else found


def cron(field: str, value: Any) -> str:
    """An expression that parses and fires at some time."""
    if not isinstance(value, str):
        raise InvalidValue(field, value, said("give a cron expression such as 0 9 * * MON-FRI"))
    try:
        parse_cron(value.strip())
    except InvalidValue as error:
        raise InvalidValue(field, value, error.expected) from None
    return Text(longest=200)(field, value)


def timezone(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue(field, value, said("give the name of a timezone, such as Europe/Paris"))
    try:
        return validate_timezone(value)
    except InvalidValue as error:
        raise InvalidValue(field, value, error.expected) from None


def exception_name(field: str, value: Any) -> str:
    name = Text(longest=200, required=True)(field, value)
    if not _EXCEPTION_NAME.fullmatch(name):
        raise InvalidValue(field, value, said("give exception names such as ValueError or requests.exceptions.Timeout"))
    return name


def unknown_field(field: str, value: Any, known: list[str]) -> InvalidValue:
    """There is no such field; say which one may have been meant."""
    close = difflib.get_close_matches(field, known, n=3)
    if close:
        return InvalidValue(field, value, said("did you mean {names}?", names=either(close)))
    return InvalidValue(field, value, said("known are {names}", names=", ".join(known)))
