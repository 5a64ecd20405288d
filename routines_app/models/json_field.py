"""JSON columns that can be read whatever plain SQL has put there: one row must not break a whole list."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

from routines_app.core.json_text import READ_LEVELS, nests_deeper


class Unread(str):
    """Stands for a stored value that Python cannot take; it says why, and is neither a list nor an object."""

    __slots__ = ()


TOO_DEEP = Unread(f"(not read: it nests more than {READ_LEVELS} levels deep)")
TOO_LONG = Unread("(not read: it holds a number of too many digits)")


class JSONField(models.JSONField):
    """Django's, with a stand-in for what it could not read: PostgreSQL stores thousands of levels and of digits."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return from_text(value) if isinstance(value, str) else super().from_db_value(value, expression, connection)

    def deconstruct(self) -> Any:
        """To migrations it is Django's: the column is the same."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


def from_text(text: str) -> Any:
    """The value of a JSON column; a text that is no JSON is itself."""
    if nests_deeper(text, READ_LEVELS):
        return TOO_DEEP
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except ValueError:  # Python reads no integers of thousands of digits
        return TOO_LONG
