"""Every code that is stored has a label, which follows the language."""

from __future__ import annotations

from enum import StrEnum

import pytest
from django.utils.functional import Promise

from routines_app.core import words
from routines_app.models.choices import choices_of, label_of
from routines_app.models.labels import LABELS

WORDS = [each for each in vars(words).values() if isinstance(each, type) and issubclass(each, StrEnum) and list(each)]


@pytest.mark.parametrize("of", WORDS, ids=lambda of: of.__name__)
def test_every_word_has_a_label(of: type[StrEnum]) -> None:
    """In the order of the words, which forms show; the empty code says nothing and needs none."""
    assert list(LABELS[of]) == [word for word in of if word]
    assert [code for code, _ in choices_of(of)] == [word.value for word in of if word]


@pytest.mark.parametrize("of", WORDS, ids=lambda of: of.__name__)
def test_a_label_is_its_code_spelled_for_people_and_follows_the_language(of: type[StrEnum]) -> None:
    for word, label in LABELS[of].items():
        assert isinstance(label, Promise)
        assert label_of(of, word.value) == word.value.replace("_", " ").replace("-", " ").capitalize()


def test_a_kind_of_word_has_a_context_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one English word would have to be one word everywhere: `Queue` is a policy here and a thing there."""
    monkeypatch.setattr("django.utils.translation._trans.pgettext", lambda context, message: context)
    contexts = {of: {str(label) for label in labels.values()} for of, labels in LABELS.items()}
    assert all(len(of_kind) == 1 for of_kind in contexts.values())
    assert len(set.union(*contexts.values())) == len(LABELS)


def test_a_code_that_nobody_knows_is_spelled_for_people() -> None:
    """A row of a newer version, or one that somebody wrote by hand."""
    assert label_of(words.Reason, "moon_phase") == "Moon phase"
    assert label_of(words.Reason, "") == ""
