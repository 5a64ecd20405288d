"""Sentences that can be said in another language: the words with their gaps, and what goes into them.

The core and the verbs speak English: to programs, to logs and on the command line. Pages speak the language of whoever
looks. So a sentence that a page may show is made by `said`: it is the English text, a plain `str` to everybody, and
keeps its template and its values, from which `admin/translating.py` makes the same sentence in another language.

A template is a literal, so that `make messages` finds it, and a whole sentence or a part that other languages also
have in one piece. A value may itself have been said; it is translated too. An f-string or a concatenation of sentences
forgets what it was made of: `together` does not. Times are values as well (`Moment`), and large numbers (`figure`): how
they are written is a matter of the language.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import Any


class Said(str):
    """An English sentence that remembers what it was made of."""

    template: str
    plural: str
    number: int
    values: Mapping[str, Any]

    def __new__(cls, template: str, plural: str, number: int, values: Mapping[str, Any]) -> Said:
        chosen = plural if plural and number != 1 else template
        made = super().__new__(cls, chosen.format(**values) if values else chosen)
        made.template, made.plural, made.number = template, plural, number
        made.values = MappingProxyType(dict(values))
        return made

    def __reduce__(self) -> tuple[type[Said], tuple[str, str, int, dict[str, Any]]]:
        return type(self), (self.template, self.plural, self.number, dict(self.values))


@dataclass(frozen=True, slots=True)
class Moment:
    """A value of a sentence: a moment, by the clock of a zone."""

    at: datetime
    zone: tzinfo

    def __str__(self) -> str:
        """`2026-11-17 03:00:00 CET`."""
        local = self.at.astimezone(self.zone)
        return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class Coded:
    """A value of a sentence: a stored code, for which each language has a word."""

    code: str

    def __str__(self) -> str:
        """`SUCCESS` as `success`."""
        return self.code.lower().replace("_", " ")


def said(template: str, /, **values: object) -> Said:
    """The template with its gaps filled: `said("give at most {most}", most=5)`."""
    return Said(template, "", 1, values)


def filled(sentence: Said, **values: object) -> Said:
    """One out of a table of sentences, which were said with their gaps open: `filled(WAITED[reason], pool="mail")`."""
    return Said(sentence.template, "", 1, values)


def figure(number: int) -> Said:
    """A number as a value that has no unit of its own: `12,345`."""
    return Said("{number:,}", "", 1, {"number": number})


def said_of(count: int, one: str, many: str, /, **values: object) -> Said:
    """The same of one thing or of many, `{count}` of them: `said_of(n, "{count} run", "{count} runs")`."""
    return Said(one, many, count, {"count": count, **values})


def together(separator: str, parts: Iterable[str]) -> Said:
    """Parts one after another, which stay apart for whoever translates them."""
    values = {f"part{number}": part for number, part in enumerate(parts)}
    return Said(separator.join(f"{{{name}}}" for name in values), "", 1, values)
