"""Lists inside of sentences."""

from __future__ import annotations

import pytest

from routines_app.core.listing import either, listed
from routines_app.core.said import Said


@pytest.mark.parametrize(
    ("things", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "{c}"], "a or b or {c}")]
)
def test_any_of_them_would_do(things: list[str], text: str) -> None:
    assert either(things) == text


def test_the_word_between_them_can_be_another() -> None:
    """What goes into the gaps is no template."""
    both = either(["a", "b", "c"])
    assert both.template == "{one} or {other}"
    assert both.values["one"] == "a"
    assert isinstance(both.values["other"], Said)


def test_none_is_a_word_too() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert (listed([]), listed([]).template) == ("none", "none")
