"""Errors about one of many: they say which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from routines_app.core.errors import RoutineError


@contextmanager
def at_item(place: str) -> Iterator[None]:
    """What is refused in here is refused about this one: the field is `members[17].emphasis`."""
    try:
        yield
    except RoutineError as error:
        field = f"{place}.{error.field}" if error.field else place
        raise type(error)(field, error.value, error.expected) from None
