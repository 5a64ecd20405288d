"""What is wrong with arguments is told without their secrets."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.core.errors import InvalidValue
from routines_app.masks import MASK
from routines_app.verbs.checking import arguments, validation


@pytest.mark.parametrize(
    "kwargs",
    [
        {"password": object},
        {"password": b"hunter2"},
        {"password": ["a", {"b": b"hunter2"}]},
        {"auth": ("--pass", b"hunter2")},
        {"list": ["--token", b"hunter2"]},
        {"name": "token", "value": b"hunter2"},
        {"token": "hunter2\x00"},
        {"token": 2**70},
        {"pwd": "hunter2", "x": float("nan")},
        {"pwd": "hunter2", "x": "y" * 100_000},
        {1: "x", "pwd": "hunter2"},
        '{"pwd": "hunter2"}',
    ],
)
def test_refused_arguments_are_told_without_secrets(kwargs: Any) -> None:
    """Also where only the name above a value says that it is one."""
    with pytest.raises(InvalidValue) as refused:
        arguments.named("kwargs", kwargs)
    for secret in ("hunter2", str(2**70), "<class"):
        assert secret not in str(refused.value)


def test_a_harmless_value_is_told() -> None:
    """The person must find it."""
    with pytest.raises(InvalidValue, match=r"kwargs: b'xyz' is not accepted"):
        arguments.named("kwargs", {"password": "hunter2", "data": [b"xyz"]})


@pytest.mark.parametrize("value", [[MASK], [{"a": f"{MASK}!"}], [f"redis://:{MASK}@h"]])
def test_a_mask_is_no_argument(value: list[Any]) -> None:
    """It was copied from a page, from `show`, or from a record of django-celery-results."""
    with pytest.raises(InvalidValue, match="stands for a value that is hidden: give the value itself"):
        arguments.positional("args", value)


def test_a_field_that_does_not_exist_may_be_a_secret() -> None:
    """`create_routine(…, token="…")` was meant for `kwargs`."""
    with pytest.raises(InvalidValue) as refused:
        validation.clean_new({"name": "a", "task": "b", "token": "hunter2"})
    assert str(refused.value).startswith(f"token: '{MASK}' is not accepted: ")
