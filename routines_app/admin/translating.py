"""What the service says, in the language of whoever looks; numbers, times and codes in it as that language has them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from routines_app.admin.code_words import code_in_words
from routines_app.admin.phrases import clock_time
from routines_app.core.errors import RoutineError
from routines_app.core.said import Coded, Moment, Said
from routines_app.core.words import Reason


class _Number(int):
    """A whole number whose `{:,}` is grouped as the language does it."""

    def __format__(self, spec: str) -> str:
        return grouped(int(self)) if spec == "," else int(self).__format__(spec)


class _Decimal(float):
    """A number with the language's point, and with its groups in `{:,.1f}`."""

    def __format__(self, spec: str) -> str:
        figures = float(self).__format__(spec.replace(",", ""))
        return number_format(figures, use_l10n=True, force_grouping="," in spec)


def translated(text: str | RoutineError) -> str:
    """The sentence in the language that is active; as it is, if nobody said how it was made."""
    if isinstance(text, RoutineError):
        return translated(text.said)
    if not isinstance(text, Said) or not text.template:
        return str(text)
    template = ngettext(text.template, text.plural, text.number) if text.plural else gettext(text.template)
    return template.format(**{name: _value(value) for name, value in text.values.items()}) if text.values else template


def grouped(number: int) -> str:
    """`12,345`, `12.345` or `12 345`."""
    return number_format(number, use_l10n=True, force_grouping=True)


def _value(value: Any) -> Any:
    match value:
        case Said():
            return translated(value)
        case Moment():
            return clock_time(value.at, value.zone)
        case datetime():
            return clock_time(value, timezone.get_current_timezone())
        case Coded():
            return code_in_words(value.code)
        case Reason():
            return code_in_words(value)
        case bool():
            return value
        case int():
            return _Number(value)
        case float():
            return _Decimal(value)
    return value
