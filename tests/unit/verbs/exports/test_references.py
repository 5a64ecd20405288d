"""References in the place of secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue
from routines_app.verbs.exports.references import Hider, Revealer, distinct_variable, plain_variable, tell_apart
from tests.integration.verbs.exports.generated import ARGUMENTS, SECRET, VALUES


def hide(value: Any, owner: str = "report") -> tuple[Any, dict[str, Any]]:
    hider = Hider(owner)
    return hider.hidden(value, "kwargs"), hider.secrets


@given(value=ARGUMENTS | st.lists(VALUES, max_size=4))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_no_secret_is_written_and_each_comes_back(value: Any) -> None:
    shown, secrets = hide(value)
    assert SECRET not in json.dumps(shown)
    assert Revealer("report", {}, secrets).revealed(shown, "kwargs") == value


def test_a_reference_names_a_variable_and_says_if_it_is_no_text() -> None:
    shown, _ = hide({"password": "x", "tokens": ["x"], "nested": [{"api_key": 3}], "a b": {"pwd": "y"}})
    assert shown == {
        "a b": {"pwd": {"$secret": "ROUTINES_SECRET_REPORT_KWARGS_A_B_PWD"}},
        "nested": [{"api_key": {"$secret": "ROUTINES_SECRET_REPORT_KWARGS_NESTED_0_API_KEY", "is": "json"}}],
        "password": {"$secret": "ROUTINES_SECRET_REPORT_KWARGS_PASSWORD"},
        "tokens": {"$secret": "ROUTINES_SECRET_REPORT_KWARGS_TOKENS", "is": "json"},
    }


def test_what_says_nothing_is_no_secret() -> None:
    value = {"password": "", "token": None, "secret": True, "api_key": []}
    assert hide(value) == (value, {})


def test_an_object_that_really_has_the_key_is_no_reference() -> None:
    value = {"$secret": None, "$$secret": False, "is": "json"}
    shown, secrets = hide(value)
    assert shown == {"$$$secret": False, "$$secret": None, "is": "json"}
    assert not secrets
    assert Revealer("report", {}, {}).revealed(shown, "kwargs") == value


def test_variables_that_would_be_called_the_same_get_names_of_their_own() -> None:
    hiders = [Hider(name) for name in ("a-b", "a_b", "c")]
    shown = [hider.hidden({"token": "x"}, "kwargs")["token"] for hider in hiders]
    tell_apart(hiders)
    names = [each["$secret"] for each in shown]
    assert names[2] == "ROUTINES_SECRET_C_KWARGS_TOKEN"
    assert len(set(names)) == 3
    assert all(name.startswith("ROUTINES_SECRET_A_B_KWARGS_TOKEN_") for name in names[:2])
    assert names[0] == distinct_variable("a-b", "kwargs.token")


def test_a_name_that_ascii_does_not_say_is_told_apart_at_once() -> None:
    assert plain_variable("отчёт", "args[0]") != plain_variable("отчет", "args[0]")
    assert len(plain_variable("x" * 200, "args[0]")) < 150


def test_the_variable_comes_before_what_is_stored() -> None:
    shown, secrets = hide({"password": "old", "tokens": [1]})
    given = {"ROUTINES_SECRET_REPORT_KWARGS_PASSWORD": "new", "ROUTINES_SECRET_REPORT_KWARGS_TOKENS": "[2]"}
    assert Revealer("report", given, secrets).revealed(shown, "kwargs") == {"password": "new", "tokens": [2]}


def test_a_stored_secret_stays_in_its_own_place_only() -> None:
    """Whoever takes an option out of a list must not get the password of another."""
    value = ["--password", "first", "--token", "second"]
    shown, secrets = hide(value)
    for owner, there, missing in (("report", shown[2:], ["kwargs[1]"]), ("another", shown, ["kwargs[1]", "kwargs[3]"])):
        revealer = Revealer(owner, {}, secrets)
        revealer.revealed(there, "kwargs")
        assert [error.field for error in revealer.missing] == missing
        assert "set ROUTINES_SECRET_REPORT_KWARGS_3 in the environment" in str(revealer.missing[-1])


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("begins with ROUTINES_SECRET_", {"$secret": "AWS_SECRET_ACCESS_KEY"}),
        ("begins with ROUTINES_SECRET_", {"$secret": "ROUTINES_SECRET_a b"}),
        ("begins with ROUTINES_SECRET_", {"$secret": 3}),
        ("give {", {"$secret": "ROUTINES_SECRET_X", "is": "yaml"}),
        ("give {", {"$secret": "ROUTINES_SECRET_X", "more": 1}),
        ("levels", [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]),
    ],
)
def test_a_reference_that_is_none_is_refused(said: str, reference: Any) -> None:
    given = {"AWS_SECRET_ACCESS_KEY": "x", "ROUTINES_SECRET_X": "x"}
    with pytest.raises(InvalidValue, match=said):
        Revealer("report", given, {}).revealed({"a": reference}, "kwargs")


@pytest.mark.parametrize("text", ["hunter2", "[" * 100, "9" * 40, "\udc80hunter2", "••••••hunter2"])
def test_what_a_variable_holds_is_in_no_error(text: str) -> None:
    with pytest.raises(InvalidValue, match="ROUTINES_SECRET_X") as refused:
        Revealer("r", {"ROUTINES_SECRET_X": text}, {}).revealed(
            {"$secret": "ROUTINES_SECRET_X", "is": "json"}, "args[0]"
        )
    assert "hunter2" not in str(refused.value)
    assert "9999" not in str(refused.value)


def test_large_numbers_are_the_floats_that_they_were() -> None:
    assert hide([10**20]) == ([1e20], {})
