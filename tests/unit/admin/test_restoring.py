"""A mask that comes back means the stored secret, or the value has to be typed again."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.admin.restoring import restored
from routines_app.core.errors import InvalidValue
from routines_app.masks import MASK


def test_a_mask_that_was_left_alone_keeps_the_stored_value() -> None:
    """Editing another argument does not overwrite a secret with dots."""
    stored = {"password": "x", "n": 1, "list": [{"token": "t", "n": 1}, {"token": "u"}]}
    edited = {"password": MASK, "n": 2, "list": [{"token": MASK, "n": 2}, {"token": "new"}]}
    expected = {"password": "x", "n": 2, "list": [{"token": "t", "n": 2}, {"token": "new"}]}
    assert restored("kwargs", edited, stored) == expected


def test_what_was_not_touched_is_what_is_stored() -> None:
    """Even where dots are stored: a value that the form showed can always be saved again."""
    stored = {"password": MASK, "note": f"{MASK} is a row of dots"}
    assert restored("kwargs", dict(stored), stored) == stored


def test_a_list_without_masks_may_grow_and_shrink() -> None:
    """Typed values need no place to be matched with."""
    assert restored("args", [{"token": "b"}], [{"token": "a"}, {"token": "c"}]) == [{"token": "b"}]
    assert restored("kwargs", {"n": True}, {"n": 1})["n"] is True


@pytest.mark.parametrize(
    ("stored", "edited", "which"),
    [
        ([{"token": "A"}, {"token": "B"}], [{"token": MASK}], "[0].token"),
        ([{"token": "A"}], [{"token": "new"}, {"token": MASK}], "[1].token"),
        ([{"id": 1, "token": "A"}, {"id": 2, "token": "B"}], [{"id": 2, "token": MASK}, {"id": 3}], "[0].token"),
        ({"password": "A"}, {"db_password": MASK}, "db_password"),
        ({"db": {"password": "A"}}, {"db": {"passwd": MASK}}, "db.passwd"),
        ({"n": 1}, {"n": MASK}, "n"),
        ({"tokens": ["A", "B"]}, {"tokens": ["new", MASK]}, "tokens[1]"),
        ({"password": "A"}, {"password": f"{MASK}new"}, "password"),
        ({"password": MASK, "n": 1}, {"password": MASK, "n": 2}, "password"),
        ({}, {"password": MASK}, "password"),
    ],
)
def test_a_mask_without_a_match_is_refused(stored: Any, edited: Any, which: str) -> None:
    """Neither dots nor another's secret are stored; the error says which value to type again."""
    with pytest.raises(InvalidValue, match="type the value of") as refused:
        restored("kwargs", edited, stored)
    assert refused.value.field == "kwargs"
    assert f"value of {which} again" in refused.value.expected
