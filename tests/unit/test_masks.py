"""Secrets are not shown."""

from __future__ import annotations

import json
from time import perf_counter

import pytest
from pytest_django import Settings

from routines_app.admin.shown_values import masked_text
from routines_app.masks import MASK, masked, masked_line


def test_values_under_secret_names_are_masked_at_any_depth() -> None:
    """Keys decide; the shape of the value stays visible."""
    value = {"user": "ada", "db": [{"Password": "x", "API-Key": 5}], "token": ""}
    assert masked(value) == {"user": "ada", "db": [{"Password": MASK, "API-Key": MASK}], "token": ""}


def test_the_patterns_are_a_setting(settings: Settings) -> None:
    """A project names what is secret to it."""
    settings.ROUTINES = {"SECRET_PATTERNS": ["iban"]}
    assert masked({"iban": "DE1", "password": "x"}) == {"iban": MASK, "password": "x"}


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "hunter2", "rows": [1, 2',
        "{'db_password': 'hunter2', …",
        "auth token=hunter2 failed",
        'password: "hunter2',
        "Authorization: Bearer hunter2",
        '{"password": {"a": "hunter2…',
        '{"tokens": ["AAA", "hunter2"…',
        '{"tokens": [\n  "AAA",\n  "hunter2"…',
        "{'secret': ('a', 'hunter2')}",
        "tokens = dict(\n    a='hunter2',\n)",
        "passwords: {'a]': 1}, [\n'hunter2'",
        "password = 'one\nhunter2'",
        'password = """\nhunter2"""',
        "secret_key=-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
        "config['password'] = hunter2",
        "api key: hunter2",
        "password =>\n  hunter2",
        '"{\\"password\\": \\"hunter2',
        json.dumps("login failed password=hunter2"),
        json.dumps({"said": ["login failed password=hunter2"]}),
        json.dumps('{"password": {"a": "hunter2… [cut, 70000 characters]'),
        "[" * 100_000 + "password=hunter2",
    ],
)
def test_secrets_in_texts_are_masked_by_their_look(text: str) -> None:
    """Cut JSON, tracebacks, log lines and strings inside JSON have names with values after them, too."""
    shown = masked_text(text)
    assert "hunter2" not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    "text",
    [
        "Traceback: line 5, in check_token",
        "tokens used up, 512 of 4096 [quota]",
        "Password changed for ada: done",
        "wrote 3 rows to secrets.csv",
    ],
)
def test_harmless_texts_stay_readable(text: str) -> None:
    """A name without a value is no secret."""
    assert masked_text(text) == text


def test_only_the_line_of_the_secret_is_masked() -> None:
    """What stands around it, such as the rest of a traceback, is for reading."""
    text = "first\n  token = tokens['a'] or get(b)\nValueError: last\nAuthorization: Bearer x\nend"
    assert masked_text(text) == f"first\n  token = {MASK}\nValueError: last\nAuthorization: {MASK}\nend"


def test_long_texts_are_masked_fast() -> None:
    """A result of letters only, or of nothing but names, costs no more than reading it a few times."""
    started = perf_counter()
    for text in ("a" * 200_000, "token" * 40_000, "token: [" * 25_000, "token " * 40_000, "token='" * 30_000):
        masked_line(text)
    assert perf_counter() - started < 5
