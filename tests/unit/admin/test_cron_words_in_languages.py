"""The sentences about schedules lose nothing in German and French: what differs in English differs there, too."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from itertools import combinations

import pytest
from django.utils import translation
from django.utils.dates import MONTHS, WEEKDAYS
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from routines_app import service
from routines_app.admin.cron_phrases import cron_in_words
from tests.unit.admin.test_cron_words_are_true import written
from tests.unit.core.strategies import EXPRESSIONS

NAMES = [(name, WEEKDAYS[number]) for number, name in enumerate(calendar.day_name)]
NAMES += [(name, MONTHS[number]) for number, name in enumerate(calendar.month_name) if name]

languages = pytest.mark.parametrize("language", ["de", "fr"])


def _told(expression: str, language: str) -> str:
    with translation.override(language):
        return cron_in_words(expression)


def _english(expression: str) -> str:
    """The sentence about a valid expression that has one."""
    try:
        service.clean_value("cron", expression)
    except service.InvalidValue:
        assume(False)
    words = _told(expression, "en")
    assume(words != expression)
    return words


@languages
@settings(deadline=None)
@example("0 9 */2 * 5L")
@example("0 0 13 * FRI")
@example("*/10 22-4 * 3,5 *")
@example("0 9 1,15W,L-3 NOV-FEB MON#1")
@given(st.sampled_from(EXPRESSIONS) | written)
def test_each_number_day_and_month_is_said(language: str, expression: str) -> None:
    """As often as in English, wherever it stands in the sentence."""
    english, other = _english(expression), _told(expression, language)
    assume(other != expression)  # too long there: the expression itself is shown
    assert Counter(re.findall(r"\d+", other)) == Counter(re.findall(r"\d+", english)), (english, other)
    assert _named(other, language) == _named(english, "en"), (english, other)


def _named(words: str, language: str) -> Counter[str]:
    """How often each day and month is named, by its English name."""
    with translation.override(language):
        names = {
            english: re.escape(str(name)) + ("s?" if english in calendar.day_name else "") for english, name in NAMES
        }
    found = {english: len(re.findall(rf"\b{name}\b", words, re.IGNORECASE)) for english, name in names.items()}
    return Counter({english: count for english, count in found.items() if count})


@languages
@settings(deadline=None)
@example("0 9 1 * *", "0 9 1W * *")
@example("0 9 * * 5L", "0 9 * * 5#1")
@example("*/10 8-18 * * *", "*/10 8-17 * * *")
@given(*[st.sampled_from(EXPRESSIONS) | written] * 2)
def test_neighbours_stay_apart(language: str, one: str, other: str) -> None:
    """Two expressions, and what lies between them: the fields of one are exchanged for those of the other."""
    told = {_english(between): between for between in _between(one, other)}
    spoken = {_told(expression, language) for expression in told.values()}
    assert len(spoken) == len(told), (told, spoken)


def _between(one: str, other: str) -> list[str]:
    """The first, and with each of its fields exchanged, as far as that is an expression with a sentence."""
    ours, theirs = one.split(), other.split()
    if len(ours) != len(theirs):
        return [one, other]
    made = [" ".join([*ours[:place], theirs[place], *ours[place + 1 :]]) for place in range(len(ours))]
    return [one, other, *filter(_has_a_sentence, made)]


def _has_a_sentence(expression: str) -> bool:
    try:
        service.clean_value("cron", expression)
    except service.InvalidValue:
        return False
    return _told(expression, "en") != expression


@languages
def test_known_expressions_stay_apart(language: str) -> None:
    known = filter(_has_a_sentence, EXPRESSIONS)
    for one, other in combinations(known, 2):
        if _told(one, "en") != _told(other, "en"):
            assert _told(one, language) != _told(other, language), (one, other)
