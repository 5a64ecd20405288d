"""What single fields accept, without a database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue, RoutineError, UnknownTask
from routines_app.core.words import CatchUpPolicy
from routines_app.verbs.checking import arguments, rules
from routines_app.verbs.checking.known_tasks import known_task, registered_tasks

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)
ANYTHING = (
    JSON
    | st.binary(max_size=5)
    | st.floats()
    | st.text(max_size=10)
    | st.dates()
    | st.complex_numbers()
    | st.sets(st.integers(), max_size=3)
    | st.dictionaries(st.integers(), st.integers(), max_size=2)
)


@given(JSON)
def test_json_arguments_are_stored_as_they_are(value: Any) -> None:
    """What goes in comes back out of the database's JSON."""
    assert arguments.positional("args", [value]) == json.loads(json.dumps([value]))
    assert arguments.named("kwargs", {"a": value}) == json.loads(json.dumps({"a": value}))


@given(st.lists(ANYTHING, max_size=3))
def test_arguments_are_strict_json_or_refused(value: list[Any]) -> None:
    """Nothing gets through that a JSON column would refuse or change, and no other error comes out."""
    try:
        stored = arguments.positional("args", value)
    except InvalidValue:
        return
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored
    json.dumps(stored, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "rule",
    [
        rules.Text(longest=10),
        rules.Duration(least=1, most=10**6),
        rules.Integer(least=0, most=9),
        rules.Number(least=0, most=9),
        rules.Word(CatchUpPolicy),
        rules.ListOf(rules.Text(longest=5)),
        rules.Maybe(rules.moment),
        rules.flag,
        rules.moment,
        rules.cron,
        rules.timezone,
        rules.exception_name,
    ],
    ids=lambda rule: getattr(rule, "__name__", type(rule).__name__),
)
@given(value=ANYTHING)
def test_a_rule_answers_or_refuses_and_never_crashes(rule: rules.Rule, value: Any) -> None:
    """Whatever is typed, the only error is a `RoutineError` that names the field."""
    error = refusal(rule, value)
    assert error is None or (error.field == "field" and error.expected)


def refusal(rule: rules.Rule, value: Any) -> RoutineError | None:
    try:
        rule("field", value)
    except RoutineError as error:
        return error
    return None


def test_a_moment_is_kept_in_utc() -> None:
    """The same instant, whatever the offset it was written with."""
    there = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    stored = rules.moment("at", there)
    assert (stored, stored.tzinfo) == (there, UTC)


def test_words_are_taken_in_any_case() -> None:
    """`last` and `LAST` mean the same."""
    assert rules.Word(CatchUpPolicy)("field", "last") == "LAST"


def test_text_is_stripped_unless_it_has_lines() -> None:
    """A name with a blank at its end is the same name; a description is left alone."""
    assert rules.Text(longest=10)("name", " a ") == "a"
    assert rules.Text(longest=10, lines=True)("description", "a\n") == "a\n"


def test_sets_are_stored_in_a_stable_order() -> None:
    """Saving the same set twice is no change."""
    assert rules.ListOf(rules.Text(longest=5))("tags", {"b", "a"}) == ["a", "b"]


def test_an_unknown_field_suggests_a_known_one() -> None:
    """A slip of the keyboard is answered with what may have been meant; anything else with the whole list."""
    assert "timeout_ms" in rules.unknown_field("timeout", 1, ["timeout_ms", "queue"]).expected
    assert "known are queue" in rules.unknown_field("zzz", 1, ["queue"]).expected


def test_registered_tasks_are_those_of_the_project() -> None:
    """The machinery's own task is nobody's to schedule."""
    names = registered_tasks()
    assert "tests.acceptance.tasks.note" in names
    assert not any(name.startswith("routines_app.") for name in names)


def test_an_unknown_task_that_resembles_nothing_lists_what_there_is() -> None:
    """The message is for a person who does not know the names."""
    with pytest.raises(UnknownTask, match=r"registered: .*tests\.acceptance\.tasks\."):
        known_task("task", "qqqqqqqq")


def test_names_of_megabytes_are_refused_without_looking_for_close_ones() -> None:
    """Comparing them with every name there is would take seconds, and the error shows their beginning only."""
    for refuse in (known_task, rules.timezone, rules.cron):
        with pytest.raises(InvalidValue) as caught:
            refuse("field", "x/" * 900_000)
        assert caught.value.field == "field"
        assert len(str(caught.value)) < 500
