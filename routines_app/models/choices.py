"""Django choices built from the core's words, and the field that stores them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.db import models


def choices_of(words: type[StrEnum]) -> list[tuple[str, str]]:
    """What Django's `choices` takes: the stored code and a label for people."""
    return [(word.value, word.value.replace("_", " ").replace("-", " ").capitalize()) for word in words if word]


def word_field(words: type[StrEnum], default: StrEnum | None = None, **options: Any) -> models.CharField[str, str]:
    """A short text column that holds one of the words; the database knows the default too."""
    if default is not None:
        options |= {"default": default.value, "db_default": default.value}
    return models.CharField(max_length=24, choices=choices_of(words), **options)


def is_word(field: str, words: type[StrEnum], name: str) -> models.CheckConstraint:
    """The database refuses a code that is not one of the words."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": [w.value for w in words]}), name=name)
