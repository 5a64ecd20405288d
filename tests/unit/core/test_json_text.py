"""How deep JSON nests, before it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.json_text import nests_deeper

JSON = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\ab', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\', max_size=3), inner, max_size=3),
    max_leaves=20,
)


def depth_of(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((depth_of(one) for one in inside), default=0)


@given(JSON)
def test_the_depth_is_that_of_the_value(value: Any) -> None:
    """Brackets in strings and keys do not count, escaped quotes end none."""
    text, depth = json.dumps(value), depth_of(value)
    assert not nests_deeper(text, depth)
    assert depth == 0 or nests_deeper(text, depth - 1)


@pytest.mark.parametrize(
    ("text", "deeper"),
    [
        ("[" * 101, True),
        ('{"a":' * 101, True),
        ("[]" * 500, False),
        ('"' + "[" * 500, False),
        ("]" * 101 + "[" * 100, False),
    ],
)
def test_text_that_is_no_json_is_judged_as_far_as_a_parser_would_get(text: str, deeper: bool) -> None:
    """It meets the opening brackets before it meets what is wrong."""
    assert nests_deeper(text, 100) is deeper


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, '["' + "\\" * 500_000, '["[' * 300_000, "{[" * 500_000])
@pytest.mark.timeout(10)
def test_a_long_text_is_read_once(text: str) -> None:
    """Quotes that are never closed make nobody start again at each of them."""
    nests_deeper(text, 100)
