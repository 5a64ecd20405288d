"""The queue that a routine names."""

from __future__ import annotations

from typing import Any

from routines_app.coordination.queue_names import refusal_of_named
from routines_app.core.errors import InvalidValue
from routines_app.verbs.checking.rules import Text

_TEXT = Text(longest=200)


def queue(field: str, value: Any) -> str:
    """A name that is nobody's own; empty, for what `task_routes` say."""
    name = _TEXT(field, value)
    if name and (right := refusal_of_named(name)):
        raise InvalidValue(field, value, right)
    return name
