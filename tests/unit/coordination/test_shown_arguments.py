"""What monitors see of a run's arguments: masked, short, and nothing false."""

from __future__ import annotations

import ast
import json

import pytest

from routines_app.coordination import shown_arguments
from routines_app.coordination.shown_arguments import LONGEST, LONGEST_KEPT, MOST_READ, shown_args, shown_kwargs
from routines_app.masks import MASK

NONE = ((), ())


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("[]", "()"),
        ("[7]", "(7,)"),
        ('["a", {"token": "hunter2"}]', f"('a', {{'token': '{MASK}'}})"),
        ("", "(in the run's row)"),
        ("null", "(in the run's row)"),
        ('{"no": "list"}', "(in the run's row)"),
        ("[1, 2", "(in the run's row)"),
        ("[" * 500 + "]" * 500, "(in the run's row)"),
        (json.dumps(["x" * MOST_READ])[: MOST_READ + 1], "(in the run's row)"),
    ],
)
def test_positional_arguments_are_shown_as_celery_shows_them(stored: str, shown: str) -> None:
    """Of what is not at hand, cut or no JSON nothing is said."""
    assert shown_args(stored, NONE) == shown


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("{}", "{'routine': 'nightly report'}"),
        ('{"account": 7}', "{'routine': 'nightly report', 'account': 7}"),
        ('{"password": "hunter2"}', f"{{'routine': 'nightly report', 'password': '{MASK}'}}"),
        ('{"routine": "theirs"}', "{'of_routine': 'nightly report', 'routine': 'theirs'}"),
    ],
)
def test_the_routine_stands_first_among_the_named_arguments(stored: str, shown: str) -> None:
    """Where a table cuts them, it is what people look for; it is never taken for an argument of that name."""
    assert shown_kwargs(stored, "nightly report", NONE) == shown
    assert isinstance(ast.literal_eval(shown), dict)


@pytest.mark.parametrize("stored", ["", "null", "[1]", '{"a": "' + "x" * MOST_READ])
def test_named_arguments_that_are_not_at_hand_are_not_left_out_in_silence(stored: str) -> None:
    assert shown_kwargs(stored, "nightly", NONE) == "{'routine': 'nightly', ... (in the run's row)}"


def test_long_arguments_are_cut() -> None:
    """A message is no place for kilobytes that nobody reads."""
    stored = json.dumps({"text": "x" * 5_000, "more": 1})
    assert shown_kwargs(stored, "nightly", NONE).startswith("{'routine': 'nightly', 'text': 'xxx")
    assert len(shown_kwargs(stored, "nightly", NONE)) < LONGEST + 100
    assert len(shown_args(json.dumps(["x" * 5_000]), NONE)) < LONGEST + 100


def test_long_arguments_are_not_kept() -> None:
    """Thousands of different ones would take hundreds of megabytes, in clear."""
    for cached in (shown_arguments._args, shown_arguments._others):
        cached.cache_clear()
    for number in range(3):
        shown_args(json.dumps([number, "x" * LONGEST_KEPT]), NONE)
        shown_kwargs(json.dumps({"n": number, "x": "x" * LONGEST_KEPT}), "nightly", NONE)
        shown_args(json.dumps([number]), NONE)
        shown_kwargs(json.dumps({"n": number}), "nightly", NONE)
    assert (shown_arguments._args.cache_info().currsize, shown_arguments._others.cache_info().currsize) == (3, 3)
