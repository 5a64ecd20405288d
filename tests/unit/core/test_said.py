"""Sentences that remember what they were made of."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from routines_app.core.said import Said, said, said_of, together


def test_what_is_said_is_plain_english_to_everybody() -> None:
    """Logs, programs and JSON get a text like any other."""
    text = said("give at most {most:,}", most=1234)
    assert text == "give at most 1,234"
    assert json.dumps(text) == '"give at most 1,234"'


def test_it_keeps_its_template_and_its_values() -> None:
    text = said("{who} has {what}", who="a", what=said("nothing"))
    assert (text.template, dict(text.values)) == ("{who} has {what}", {"who": "a", "what": "nothing"})
    assert isinstance(text.values["what"], Said)


def test_a_text_without_gaps_may_have_braces() -> None:
    """Nobody fills gaps where no value is given."""
    assert said('give an object, as {"a": 1}') == 'give an object, as {"a": 1}'


@pytest.mark.parametrize(("count", "text"), [(0, "0 runs of x"), (1, "1 run of x"), (2, "2 runs of x")])
def test_one_and_many(count: int, text: str) -> None:
    assert said_of(count, "{count} run of {name}", "{count} runs of {name}", name="x") == text


def test_parts_together_stay_apart() -> None:
    """Each can be translated by itself."""
    both = together(", ", [said("one"), "{two}"])
    assert both == "one, {two}"
    assert [type(part) for part in both.values.values()] == [Said, str]
    assert together(", ", []) == ""


@pytest.mark.parametrize("take", [copy.deepcopy, lambda text: pickle.loads(pickle.dumps(text))])
def test_a_copy_can_be_translated_too(take: object) -> None:
    """Errors are sent to other processes."""
    text = said_of(2, "{count} run", "{count} runs")
    taken = take(text)  # type: ignore[operator]
    assert taken == text
    assert (taken.template, taken.plural, taken.number, dict(taken.values)) == (
        "{count} run",
        "{count} runs",
        2,
        {"count": 2},
    )
