"""Sentences that remember what they were made of."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from routines_app.core.said import Coded, Moment, Said, figure, filled, said, said_of, together


def test_what_is_said_is_plain_english_to_everybody() -> None:
    """Logs, programs and JSON get a text like any other."""
    text = said("give at most {most:,}", most=1234)
    assert text == "give at most 1,234"
    assert json.dumps(text) == '"give at most 1,234"'


def test_it_keeps_its_template_and_its_values() -> None:
    text = said("{who} has {what}", who="a", what=said("nothing"))
    assert (text.template, dict(text.values)) == ("{who} has {what}", {"who": "a", "what": "nothing"})
    assert isinstance(text.values["what"], Said)


def test_a_text_without_gaps_may_have_braces() -> None:
    """Nobody fills gaps where no value is given."""
    assert said('give an object, as {"a": 1}') == 'give an object, as {"a": 1}'


@pytest.mark.parametrize(("count", "text"), [(0, "0 runs of x"), (1, "1 run of x"), (2, "2 runs of x")])
def test_one_and_many(count: int, text: str) -> None:
    assert said_of(count, "{count} run of {name}", "{count} runs of {name}", name="x") == text


def test_parts_together_stay_apart() -> None:
    """Each can be translated by itself."""
    both = together(", ", [said("one"), "{two}"])
    assert both == "one, {two}"
    assert [type(part) for part in both.values.values()] == [Said, str]
    assert together(", ", []) == ""


def test_a_sentence_of_a_table_is_filled_when_it_is_said() -> None:
    """The table's own stays open for the next one."""
    table = {"pool": said("for room in {pool}")}
    text = filled(table["pool"], pool="mail")
    assert (text, text.template, dict(text.values)) == ("for room in mail", "for room in {pool}", {"pool": "mail"})
    assert table["pool"] == "for room in {pool}"


def test_a_number_without_a_unit_is_grouped() -> None:
    assert said("{count} or more", count=figure(12345)) == "12,345 or more"


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (UTC, "2026-07-01 03:00:00 UTC"),
        (ZoneInfo("Europe/Paris"), "2026-07-01 05:00:00 CEST"),
        (timezone(timedelta(hours=2), ""), "2026-07-01 05:00:00"),
    ],
)
def test_a_moment_is_told_by_the_clock_of_its_zone(zone: ZoneInfo, text: str) -> None:
    """A zone need not have a name."""
    at = Moment(datetime(2026, 7, 1, 3, tzinfo=UTC), zone)
    assert said("it began at {at}", at=at) == f"it began at {text}"
    assert pickle.loads(pickle.dumps(at)) == at


@pytest.mark.parametrize("take", [copy.deepcopy, lambda text: pickle.loads(pickle.dumps(text))])
def test_a_copy_can_be_translated_too(take: object) -> None:
    """Errors are sent to other processes."""
    text = said_of(2, "{count} run", "{count} runs")
    taken = take(text)  # type: ignore[operator]
    assert taken == text
    assert (taken.template, taken.plural, taken.number, dict(taken.values)) == (
        "{count} run",
        "{count} runs",
        2,
        {"count": 2},
    )


def test_a_code_is_read_as_words() -> None:
    """To whoever has no other word for it."""
    assert said("it was {became}", became=Coded("CATCH_UP")) == "it was catch up"
