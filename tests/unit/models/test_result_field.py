"""Results as Python reads and writes them."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.models import RoutineRun
from routines_app.models.result_field import ResultField, value_of

FIELD: ResultField = RoutineRun._meta.get_field("result")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    """None is the one that may have been two: a task that returned nothing, and no result at all."""
    assert value_of(FIELD.get_prep_value(value)) == value


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        (None, None),
        ("null", None),
        ('"done"', "done"),
        ('{"rows": [1, 2.5, null]}', {"rows": [1, 2.5, None]}),
        ("no JSON", "no JSON"),
        ("", ""),
        ('{"cut": "in the mid', '{"cut": "in the mid'),
        (json.dumps('{"a": … [cut, 70000 characters]'), '{"a": … [cut, 70000 characters]'),
        ("[" * 101 + "]" * 101, "[" * 101 + "]" * 101),
        (f"[{'9' * 5_000}]", f"[{'9' * 5_000}]"),
    ],
    ids=lambda given: repr(given)[:20],
)
def test_whatever_is_stored_can_be_read(stored: str | None, value: Any) -> None:
    """Plain SQL and older releases have put it there; what is no JSON is text."""
    assert FIELD.from_db_value(stored, None, None) == value


def test_to_migrations_it_is_a_text_field() -> None:
    """The column is the same, and a table with millions of rows is not rewritten for it."""
    assert FIELD.deconstruct()[1] == "django.db.models.TextField"


def test_serializers_take_the_value_itself() -> None:
    """`dumpdata` and `loaddata` agree on it."""
    run = RoutineRun(id=UUID(int=1), result={"rows": 7})
    assert FIELD.to_python(FIELD.value_to_string(run)) == {"rows": 7}
