"""What somebody did to a routine has a sentence of its own, whatever it was."""

from __future__ import annotations

from routines_app.core.words import ChangeKind
from routines_app.verbs.why.changed import DONE, DONE_BY


def test_every_kind_of_change_has_its_sentences() -> None:
    """With and without a name: a code would be no word in any language."""
    assert set(DONE) == set(DONE_BY) == set(ChangeKind)
    assert all("{actor}" in sentence.template for sentence in DONE_BY.values())
