"""Secrets in values are not shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines_app.masks import MASK, holds_secret, masked, masked_json
from tests.unit.masks.test_secret_names import SECRET

texts = st.text(max_size=20) | st.sampled_from(
    [
        "password",
        "--token",
        "a://b:c@d",
        "pwd=x",
        "name",
        "value",
        MASK,
        "token: [",
        "x\n",
        "'",
        "…",
        "AKIAABCDEFGHIJKLMNOP",
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(texts | st.integers() | st.sampled_from(SECRET), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"n": 1, "db": [{"Password": "x", "API-Key": 5}]}, {"n": 1, "db": [{"Password": MASK, "API-Key": MASK}]}),
        ({"token": ["a", "b"], "auth": {"user": "x"}}, {"token": MASK, "auth": MASK}),
        (["--password", "x"], ["--password", MASK]),
        (["dump", "--db-pass", "x", "--host", "h"], ["dump", "--db-pass", MASK, "--host", "h"]),
        (["--password=x", "-v"], [f"--password={MASK}", "-v"]),
        (["password", "x"], ["password", MASK]),
        (["password", {"a": "x"}], ["password", MASK]),
        ({"env": [["PGPASSWORD", "x"], ["LANG", "C"]]}, {"env": [["PGPASSWORD", MASK], ["LANG", "C"]]}),
        (("Authorization", "Bearer x"), ("Authorization", MASK)),
        ({"name": "password", "value": "x", "type": "t"}, {"name": "password", "value": MASK, "type": "t"}),
        ({"Value": "x", "Key": "DB_PASS"}, {"Value": MASK, "Key": "DB_PASS"}),
        ({"db_url": "postgres://u:x@h/db"}, {"db_url": f"postgres://u:{MASK}@h/db"}),
        ({"note": "PWD=x"}, {"note": f"PWD={MASK}"}),
        ({"redis://:x@h": 1}, {f"redis://:{MASK}@h": 1}),
    ],
)  # fmt: skip
def test_secrets_are_masked_at_any_depth(value: Any, shown: Any) -> None:
    """By the name over them, before them or beside them; the rest of the value stays visible."""
    assert masked(value) == shown
    assert holds_secret(value)


@pytest.mark.parametrize(
    "value",
    [
        {"password": "", "token": None, "auth": False, "secrets": [], "cookies": {}, "has_password": True},
        {"author": "ada", "passed": 3, "bypass": "x", "keyboard": "de", "compass": "n"},
        ["user", "password"],
        ["password", "user", "email"],
        ["the password has changed", "ok"],
        {"name": "limit", "value": "x"},
        {"name": "password", "type": "text"},
        {"url": "http://h:8080/x?mail=a@b.c"},
        ["--host", "h"],
        [1, 2.5, None, True],
    ],
)
def test_what_is_no_secret_stays(value: Any) -> None:
    """Nothing, a yes or a no, and what has a harmless name."""
    assert masked(value) == value
    assert not holds_secret(value)


def test_deep_values_end_in_dots() -> None:
    """Rather than in a RecursionError; what is not shown cannot be a secret that is."""
    value: Any = {"password": "hunter2"}
    for _ in range(100_000):
        value = [value]
    shown = json.dumps(masked(value), ensure_ascii=False)
    assert "hunter2" not in shown
    assert "…" in shown


def test_a_circle_ends_too() -> None:
    value: list[Any] = []
    value.append(value)
    assert "…" in str(masked(value))


def test_a_value_that_cannot_be_read_is_hidden() -> None:
    """Nobody knows what is in it."""

    class Broken(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise OSError("gone")

    assert masked([Broken()]) == MASK


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"n":  1, "ok": true}', '{"n":  1, "ok": true}'),
        ("null", "null"),
        ('{"token": "x"}', json.dumps({"token": MASK})),
        ('"pwd=x"', json.dumps(f"pwd={MASK}")),
        ("1" * 5_000, "1" * 5_000),
        ('{"token": "x', json.dumps(f'{{"token": {MASK}')),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_masked_json_is_json_where_it_was(text: str, shown: str) -> None:
    """And the very same text where nothing is hidden: a program that reads it finds what was stored."""
    assert masked_json(text) == shown


@given(values)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_masking_never_raises_and_twice_is_once(value: Any) -> None:
    """What was shown can be shown again: masks stay what they are."""
    once = masked(value)
    assert masked(once) == once


@given(
    name=st.sampled_from(SECRET),
    before=values,
    wrap=st.sampled_from([list, lambda item: {"a": item}, lambda item: [0, item, 0], lambda item: (item,)]),
    form=st.sampled_from(
        [
            lambda name, value: {name: value},
            lambda name, value: {"x": 1, name: [value, 1]},
            lambda name, value: [name, value],
            lambda name, value: ["--" + name.lstrip("-"), value, "more"],
            lambda name, value: {"name": name, "value": value},
            lambda name, value: f"it said {name}={value}",
            lambda name, value: f"{{'{name}': '{value}', 'a': 1}}",
        ]
    ),
)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_a_value_under_a_secret_name_is_never_shown(name: str, before: Any, wrap: Any, form: Any) -> None:
    """In whatever it is wrapped, and whatever stands before it."""
    found = repr(masked([before, wrap([form(name, "hunter2")]), form(name, "hunter2")]))
    assert "hunter2" not in found
