"""A mask that comes back means the stored secret only where nothing around it has changed."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.admin.restoring import changed_arguments
from routines_app.core.errors import InvalidValue
from routines_app.masks import MASK, masked

STORED: dict[str, Any] = {"args": ["https://us.example"], "kwargs": {"token": "x", "n": 1, "db": [{"pwd": "y"}]}}
SHOWN: dict[str, Any] = {"args": ["https://us.example"], "kwargs": {"token": MASK, "n": 1, "db": [{"pwd": MASK}]}}


def refusal(given: dict[str, Any], stored: dict[str, Any], also_changed: tuple[str, ...] = ()) -> tuple[str, str]:
    with pytest.raises(InvalidValue) as refused:
        changed_arguments(given, stored, also_changed)
    return refused.value.field, refused.value.expected


@pytest.mark.parametrize("given", [SHOWN, {"kwargs": SHOWN["kwargs"]}, {"args": SHOWN["args"]}, {}])
def test_what_was_not_touched_is_what_is_stored(given: dict[str, Any]) -> None:
    """Parts that were not sent are as they were."""
    assert changed_arguments(given, STORED) is None


def test_the_order_of_names_is_no_change() -> None:
    """Somebody may have sorted them for reading."""
    kwargs = dict(reversed(SHOWN["kwargs"].items()))
    assert changed_arguments({"kwargs": kwargs}, STORED) is None


def test_dots_that_are_stored_can_stay() -> None:
    """A value that a page showed can always be saved again."""
    stored = {"args": [], "kwargs": {"password": MASK, "note": f"{MASK} is a row of dots"}}
    assert changed_arguments(masked(stored), stored) is None


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"kwargs": SHOWN["kwargs"] | {"url": "http://attacker/"}}, "token"),
        ({"kwargs": SHOWN["kwargs"] | {"n": True}}, "token"),
        ({"kwargs": SHOWN["kwargs"] | {"token": "new"}}, "db[0].pwd"),
        ({"kwargs": {"token": MASK}}, "token"),
        ({"kwargs": {"tok": MASK}}, "tok"),
        ({"kwargs": {"n": f"{MASK}!"}}, "n"),
        ({"kwargs": {"n": [1, {"a": MASK}]}}, "n[1].a"),
        ({"kwargs": {MASK: 1}}, "this"),
        ({"args": ["http://attacker/"]}, "token"),
        ({"args": ["http://attacker/"], "kwargs": SHOWN["kwargs"]}, "token"),
        ({"args": [], "kwargs": SHOWN["kwargs"]}, "token"),
    ],
)
def test_a_mask_among_changed_arguments_is_refused(given: dict[str, Any], where: str) -> None:
    """Whatever else changed may say where the secret goes: also an empty part beside one that was typed."""
    changed = "the arguments" if "args" in given else "the named arguments"
    says = f"{where} is hidden; because {changed} changed, type it anew, or leave everything as it was"
    assert refusal(given, STORED) == ("kwargs", says)


def test_a_secret_among_the_positional_arguments_stays_with_the_named_ones() -> None:
    """Both are one set."""
    stored = {"args": ["--token", "x"], "kwargs": {"url": "https://us.example"}}
    field, says = refusal({"kwargs": {"url": "http://attacker/"}}, stored)
    assert (field, says.split(";")[0]) == ("args", "[1] is hidden")


@pytest.mark.parametrize("given", [SHOWN, {"kwargs": SHOWN["kwargs"]}, {"args": SHOWN["args"]}])
def test_a_mask_does_not_go_elsewhere(given: dict[str, Any]) -> None:
    """Another task gets no secrets, although the arguments are as they were."""
    field, says = refusal(given, STORED, ("the task", "the queue"))
    assert field == "kwargs"
    assert "because the task and the queue changed" in says


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"args": [1], "kwargs": {"token": "new"}}, STORED),
        ({"args": [1]}, {"args": [], "kwargs": {"n": 1}}),
        ({"kwargs": {"n": True}}, {"args": [], "kwargs": {"n": 1}}),
    ],
)
@pytest.mark.parametrize("also_changed", [(), ("the task",)])
def test_without_masks_everything_may_change(
    given: dict[str, Any], stored: dict[str, Any], also_changed: tuple[str, ...]
) -> None:
    """What was typed needs nothing to be matched with; a part that was not sent is as it is stored."""
    found = changed_arguments(given, stored, also_changed)
    assert found == stored | given
    assert found is not None
    assert found["kwargs"].get("n") is (given | {"kwargs": found["kwargs"]})["kwargs"].get("n")


def test_deeply_nested_arguments_are_refused_like_others() -> None:
    """Nobody gets a RecursionError."""
    deep: Any = MASK
    for _ in range(100_000):
        deep = [deep]
    assert refusal({"args": deep}, STORED)[0] == "args"
