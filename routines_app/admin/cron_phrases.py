"""A cron expression as a sentence, made of the values that it fires at; where that would be long, it stands for itself.

The words are made of what the engine fires by, not of how the expression is written, so what one cannot say the other
does not do. `tests/unit/admin/test_cron_words_are_true.py` reads the sentences back and holds them against the fires.
"""

from __future__ import annotations

from functools import lru_cache

from django.utils.translation import get_language

from routines_app import service
from routines_app.admin.cron_clock_phrases import clock_in_words
from routines_app.admin.cron_day_phrases import days_in_words, months_in_words

LONGEST = 120  # characters: five fields are read faster than more


def cron_in_words(expression: str) -> str:
    """The expression in a sentence; the expression itself where that would be too long, or it cannot be read."""
    return _in_language(expression, get_language())


@lru_cache(maxsize=4096)
def _in_language(expression: str, _language: str | None) -> str:
    """In the language that is active; it is an argument because each has its own sentences to keep."""
    try:
        fields = service.parse_cron(expression).fields
    except Exception:  # noqa: BLE001 - the row may be corrupt, in any way
        return expression
    parts = (clock_in_words(fields), days_in_words(fields), months_in_words(fields))
    words = ", ".join(part for part in parts if part)
    return words if len(words) <= LONGEST else expression
