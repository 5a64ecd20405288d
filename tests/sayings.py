"""Whether a sentence can be said in another language: all its words stand in messages that a catalog can have."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from string import Formatter

from routines_app.core.said import Said
from tests.pages import ROOT


def unsayable(text: str) -> list[str]:
    """What of a sentence no catalog has: all of it, if nobody said how it was made."""
    if not isinstance(text, Said):
        return [text]
    return [template for template in templates_of(text) if _has_words(template) and template not in messages()]


def templates_of(text: Said) -> Iterator[str]:
    """Of the sentence, and of what was said inside it."""
    yield text.template
    for value in text.values.values():
        if isinstance(value, Said):
            yield from templates_of(value)


def _has_words(template: str) -> bool:
    """A template without words only puts values together."""
    return any(letter.isalpha() for part in Formatter().parse(template) for letter in part[0])


@cache
def messages() -> frozenset[str]:
    """What `make messages` finds, the forms for one thing of those that have two."""
    spec = importlib.util.spec_from_file_location("messages", ROOT / ".ci" / "messages.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return frozenset(each.id if isinstance(each.id, str) else each.id[0] for each in tool.found() if each.id)
