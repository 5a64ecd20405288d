"""What an error says of the value that it is about."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from time import process_time
from typing import Any

import pytest

from routines_app.core.errors import SHOWN_VALUE_LENGTH, InvalidValue
from routines_app.masks import MASK, brief


class Loud:
    def __repr__(self) -> str:
        return "Loud(password='hunter2')"


class Broken:
    def __repr__(self) -> str:
        raise OSError("hunter2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kwargs", {"password": "hunter2"}),
        ("kwargs", '{"password": "hunter2"}'),
        ("args", ["--token", "hunter2"]),
        ("args", ({"a": [{"pwd": b"hunter2"}]},)),
        ("args", b"password=hunter2"),
        ("args", {frozenset({"x"}): Loud()}),
        ("args", [Loud(), Broken()]),
        ("args", Loud()),
        ("args", Broken()),
        ("password", "hunter2"),
        ("apiKey", 5),
        ("name", "redis://:hunter2@host"),
    ],
)
def test_an_error_does_not_tell_secrets(field: str, value: object) -> None:
    """Neither under a secret name, nor in the text of somebody's own class, nor of a field that is one itself."""
    text = str(InvalidValue(field, value, "give something else"))
    assert "hunter2" not in text
    assert text.startswith(f"{field}: ")
    assert text.endswith(" is not accepted: give something else")


@pytest.mark.parametrize(
    "value", [None, 5, "text", [1, "a"], {"a": (1, 2)}, datetime(2030, 1, 1, tzinfo=UTC), 1.5, True, b"x", range(3)]
)
def test_what_is_no_secret_is_told(value: object) -> None:
    """As Python writes it."""
    assert brief("args", value) == repr(value)


def test_programs_get_the_value_itself() -> None:
    """It is the text that travels; and an error can be sent to another process."""
    error = pickle.loads(pickle.dumps(InvalidValue("kwargs", {"token": "x"}, "…")))
    assert error.value == {"token": "x"}
    assert MASK in str(error)


def test_huge_values_cost_no_more_than_what_is_shown() -> None:
    """Of a value that is refused for its size, the text shows a few characters."""
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    wide = [[f"pwd={at}" for at in range(1_000)] for _ in range(1_000)]
    started = process_time()
    for value in (deep, wide, "token=" * 2_000_000, 10**100_000, dict.fromkeys(range(10000), "x" * 10000)):
        assert len(str(InvalidValue("args", value, ""))) < SHOWN_VALUE_LENGTH + 40
    assert process_time() - started < 2
