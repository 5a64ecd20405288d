"""Secrets are not shown."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from routines_app.admin.masks import MASK, masked, masked_text


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
    ],
)
def test_a_result_that_was_cut_is_masked_by_its_look(text: str) -> None:
    """Cut JSON cannot be parsed, and its secrets are still hidden."""
    shown = masked_text(text)
    assert "hunter2" not in shown
    assert MASK in shown
