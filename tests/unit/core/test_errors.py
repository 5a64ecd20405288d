"""Errors that carry facts, for people and for programs."""

from __future__ import annotations

import pickle

import pytest

from routines_app.core import errors
from routines_app.core.errors import ImportRefused, InvalidValue, RoutineError, in_words, shown
from routines_app.core.said import Said, said


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_an_error_says_field_value_and_what_would_be_right() -> None:
    """The text is for people, the attributes are for programs, and it is a ValueError for everybody else."""
    error = InvalidValue("every", -1, "give a positive number")
    assert str(error) == "every: -1 is not accepted: give a positive number"
    assert (error.field, error.value, error.expected) == ("every", -1, "give a positive number")
    assert isinstance(error, RoutineError | ValueError)


def test_an_error_survives_being_sent_to_another_process() -> None:
    """A worker's error arrives whole where it is reported."""
    received = pickle.loads(pickle.dumps(InvalidValue("cron", "x", "give 5 fields")))
    assert type(received) is InvalidValue
    assert str(received) == "cron: 'x' is not accepted: give 5 fields"


def test_an_error_is_told_within_another_sentence() -> None:
    """One of ours stays a sentence that can be translated; of any other one its text is all there is."""
    ours = in_words(InvalidValue("cron", "x", said("give 5 fields")))
    assert isinstance(ours, Said)
    assert ours == "cron: 'x' is not accepted: give 5 fields"
    assert in_words(ValueError("no")) == "no"


def test_any_value_can_be_shown() -> None:
    """Long values are cut, and one that cannot be printed does not hide the error about it."""
    assert shown("x" * 500).endswith("…")
    assert len(shown("x" * 500)) == 120
    assert shown(Unshowable()) == "<Unshowable that cannot be shown>"


def test_without_an_app_values_are_shown_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks are handed down when the app is ready; the core alone has none."""
    monkeypatch.setattr(errors, "_show", errors._plainly)
    assert shown({"token": "x"}, "kwargs") == "{'token': 'x'}"
    assert shown(Unshowable()) == "<Unshowable that cannot be shown>"


def test_a_refused_import_tells_every_problem() -> None:
    """To people in lines, to programs one by one, and from one process to another."""
    cron, every = InvalidValue("cron", "x", "give 5 fields"), InvalidValue("every", -1, "give a positive number")
    refused = ImportRefused([cron, every])
    assert str(refused) == f"nothing is imported, 2 problems:\n{cron}\n{every}"
    assert "1 problem:" in str(ImportRefused([cron]))
    received = pickle.loads(pickle.dumps(refused))
    assert (type(received), str(received), len(received.problems)) == (ImportRefused, str(refused), 2)
