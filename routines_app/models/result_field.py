"""What a task returned: a value in Python, JSON in a text column.

Text, because it is written as it comes and searched by nobody: a table of millions of runs is not rewritten for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models

from routines_app.models.json_field import Unread, from_text

if TYPE_CHECKING:
    _TextField = models.TextField[Any, Any]
else:
    _TextField = models.TextField


class ResultField(_TextField):
    """None is NULL, or the `null` of a task that returned nothing; to migrations it is a `TextField`."""

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Any:
        return value_of(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value)

    def to_python(self, value: Any) -> Any:
        return value

    def value_to_string(self, obj: models.Model) -> Any:
        """As Django's JSONField has it: serializers take the value itself."""
        return self.value_from_object(obj)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs


def value_of(text: str | None) -> Any:
    """The value of a stored result. What is no JSON, or cannot be read as such, is the text itself."""
    if text is None:
        return None
    found = from_text(text)
    return text if isinstance(found, Unread) else found
