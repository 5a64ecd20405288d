"""A value in an error text: without its secrets, and without reading more of it than such a text can show."""

from __future__ import annotations

from typing import Any

from routines_app.masks.secret_names import looks_secret
from routines_app.masks.texts import CUT, MASK
from routines_app.masks.values import masked

LEVELS = 8
MOST_ENTRIES = 1_000  # in all
MOST_CHARACTERS = 5_000  # of one text
MOST_BITS = 4_096  # of a number: Python refuses to write very many digits


def brief(field: str, value: object) -> str:
    """The `repr` of what the field was given; the caller cuts it to its length."""
    if looks_secret(field):
        return repr(MASK)
    return repr(masked(_Copy().of(value, LEVELS)))


class _Unquoted(str):
    """A text that shows itself: what an object of somebody's class says of itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Copy:
    """The beginning of a value, made of what can be shown."""

    def __init__(self) -> None:
        self._left = MOST_ENTRIES

    def of(self, value: Any, levels: int) -> Any:
        self._left -= 1
        if isinstance(value, str):
            return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + CUT
        if isinstance(value, dict | list | tuple | set | frozenset):
            return self._of_entries(value, levels) if levels > 0 and self._left > 0 else _Unquoted(CUT)
        if value is None or isinstance(value, bool | float) or (isinstance(value, int) and _is_writable(value)):
            return value
        return _Unquoted(_said(value))

    def _of_entries(self, value: Any, levels: int) -> Any:
        if isinstance(value, dict):
            return {self.of(key, 0): self.of(item, levels - 1) for key, item in self._first(value.items())}
        items = [self.of(item, levels - 1) for item in self._first(value)]
        return tuple(items) if isinstance(value, tuple) else items

    def _first(self, items: Any) -> Any:
        for item in items:
            if self._left <= 0:
                return
            yield item


def _is_writable(number: int) -> bool:
    return number.bit_length() <= MOST_BITS


def _said(value: Any) -> str:
    if isinstance(value, int):
        return f"<a number of {value.bit_length()} bits>"
    try:
        return repr(value[:MOST_CHARACTERS] if isinstance(value, bytes | bytearray) else value)[:MOST_CHARACTERS]
    except Exception:  # noqa: BLE001 - a value whose repr fails must not hide the error about it
        return f"<{type(value).__name__} that cannot be shown>"
