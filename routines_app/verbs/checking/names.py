"""Names: what people tell routines, groups, tags and pools apart by, so every character of one has to be seen.

A character that cannot be seen makes two different names look the same, and one that turns the direction of text makes
a name read as something else. Nothing is changed silently: what is stored is what was typed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.verbs.checking.rules import Text, code_point

# Letters and marks to Unicode, and nothing at all, or an empty cell, on a screen.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One line of text of which every character is seen."""

    longest: int
    required: bool = False

    def __call__(self, field: str, value: Any) -> str:
        text = Text(longest=self.longest, required=self.required)(field, value)
        refuse_unseen(field, text)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A label that is not taken for an id."""

    longest: int

    def __call__(self, field: str, value: Any) -> str:
        name = Label(longest=self.longest, required=True)(field, value)
        if name.isdigit():  # of any script
            raise InvalidValue(
                field, value, said("give a name that does not consist of digits only: it would look like an id")
            )
        return name


def refuse_unseen(field: str, text: str) -> None:
    """Refuse control, direction, zero-width, line-separating and other characters that are not seen as themselves."""
    for before, character in zip(" " + text, text, strict=False):
        if not _is_seen(character, before):
            raise InvalidValue(
                field,
                text,
                said("give it without {character}: that cannot be seen, or misleads", character=code_point(character)),
            )
    composed = unicodedata.normalize("NFC", text)
    if composed != text:
        raise InvalidValue(
            field,
            text,
            said("give it in Unicode's composed form (NFC), which looks the same: {composed}", composed=composed),
        )


def _is_seen(character: str, before: str) -> bool:
    if _is_variation_selector(character):  # a symbol can ask to be drawn as an emoji, other characters look the same
        return unicodedata.category(before).startswith("S")
    return character.isprintable() and character not in BLANK


def _is_variation_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
