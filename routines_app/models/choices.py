"""Django choices built from the core's words, and the field that stores them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.db import models

from routines_app.models.labels import LABELS


def choices_of(words: type[StrEnum]) -> list[tuple[str, Any]]:
    """What Django's `choices` takes: the stored code and a label for people, in the language of whoever looks."""
    return [(word.value, label) for word, label in LABELS[words].items()]


def label_of(words: type[StrEnum], code: str) -> str:
    """What people call that code of these words; one that nobody knows (a newer version wrote it), as it is spelled."""
    label = LABELS[words].get(code)  # type: ignore[call-overload]  # a word equals its code
    return code.replace("_", " ").replace("-", " ").capitalize() if label is None else str(label)


def display_of(words: type[StrEnum], code: str) -> str:
    """As `get_…_display` says it, without putting every other label of the field into the viewer's language first."""
    label = LABELS[words].get(code)  # type: ignore[call-overload]
    return code if label is None else str(label)


def word_field(words: type[StrEnum], default: StrEnum | None = None, **options: Any) -> models.CharField[str, str]:
    """A short text column that holds one of the words; the database knows the default too."""
    if default is not None:
        options |= {"default": default.value, "db_default": default.value}
    return models.CharField(max_length=24, choices=choices_of(words), **options)


def is_word(field: str, words: type[StrEnum], name: str) -> models.CheckConstraint:
    """The database refuses a code that is not one of the words."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": [w.value for w in words]}), name=name)
