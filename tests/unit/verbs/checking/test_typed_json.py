"""JSON that a person typed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routines_app.core.errors import InvalidValue
from routines_app.verbs.checking.arguments import MAX_NESTING
from routines_app.verbs.checking.typed_json import read_json


@pytest.mark.parametrize("value", [[], {"a": [1.5, None, True]}, [2**63 - 1, -(2**63)], "text", 1e300])
def test_what_is_json_is_read(value: Any) -> None:
    """Up to 64 bits, and as deep as arguments may be."""
    assert read_json("args", json.dumps(value)) == value


def test_the_depth_that_arguments_may_have_can_be_typed() -> None:
    """One level more cannot."""
    deep = "[" * MAX_NESTING + "]" * MAX_NESTING
    assert read_json("args", deep)
    with pytest.raises(InvalidValue, match=f"nest at most {MAX_NESTING} levels"):
        read_json("args", f"[{deep}]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[" * 100_000, "nest at most"),
        ("[" * 100_000 + "]" * 100_000, "nest at most"),
        ('{"a":' * 50_000, "nest at most"),
        ("[" * 300_000, "give at most 262,144 characters"),
        ("9" * 5_000, "64 bits"),
        (f'{{"a": [-{"9" * 5_000}]}}', "64 bits"),
        ("", "give JSON"),
        ("[1,", "give JSON"),
        ("\x00", "give JSON"),
    ],
    ids=lambda given: repr(given)[:20],
)
def test_what_cannot_be_read_is_refused(text: str, expected: str) -> None:
    """Before anything recurses into it, or Python counts its digits."""
    with pytest.raises(InvalidValue, match=expected) as refused:
        read_json("kwargs", text)
    assert refused.value.field == "kwargs"
    assert len(str(refused.value)) < 400
