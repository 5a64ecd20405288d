"""JSON columns, as Python can read them."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.models import Routine
from routines_app.models.json_field import TOO_DEEP, TOO_LONG, Unread, from_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('"text"', "text"),
        ("no JSON", "no JSON"),
        ("[" * 100 + "]" * 100, None),
        ("[" * 101 + "]" * 101, TOO_DEEP),
        ("[" * 100_000 + "]" * 100_000, TOO_DEEP),
        (f"[{'9' * 5_000}]", TOO_LONG),
        (f'["{"9" * 5_000}"]', ["9" * 5_000]),
    ],
    ids=lambda given: repr(given)[:20],
)
def test_what_python_cannot_take_is_stood_in_for(text: str, value: Any) -> None:
    """The stand-in is text that says why, and neither a list nor an object."""
    found = from_text(text)
    assert value is None or found == value
    assert isinstance(found, Unread) == isinstance(value, Unread)


def test_to_migrations_it_is_djangos_own() -> None:
    """The column is the same, and a table with millions of rows is not rewritten for it."""
    assert Routine._meta.get_field("args").deconstruct()[1] == "django.db.models.JSONField"
