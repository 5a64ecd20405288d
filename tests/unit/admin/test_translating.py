"""What the service says, in the language of whoever looks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from routines_app.admin.phrases import clock_time
from routines_app.admin.translating import grouped, translated
from routines_app.core.errors import InvalidValue
from routines_app.core.said import Moment, figure, said, said_of, together


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """German as a catalog of a few messages."""
    known = {
        "give at most {most:,}": "höchstens {most:,} angeben",
        "{who} has {what}": "{who} hat {what}",
        "nothing": "nichts",
        "It began at {at} on {worker} and failed: {why}.": "Auf {worker} begann er am {at} und scheiterte: {why}.",
        "{number:,} or more": "mindestens {number:,}",
        "{field}: {value} is not accepted: {expected}": "{field}: {value} geht nicht: {expected}",
    }
    monkeypatch.setattr("routines_app.admin.translating.gettext", lambda text: known.get(text, text))
    monkeypatch.setattr(
        "routines_app.admin.translating.ngettext", lambda one, many, n: f"{{count}} {'Lauf' if n == 1 else 'Läufe'}"
    )
    with translation.override("de"):
        yield


@pytest.mark.usefixtures("german")
def test_a_sentence_is_said_with_its_values() -> None:
    """Numbers are grouped as the language does it, and what was said inside is translated too."""
    assert translated(said("give at most {most:,}", most=12345)) == "höchstens 12.345 angeben"
    assert translated(said("{who} has {what}", who="x", what=said("nothing"))) == "x hat nichts"
    assert translated(said_of(2, "{count} run", "{count} runs")) == "2 Läufe"
    assert translated(together(", ", [said("nothing"), "x"])) == "nichts, x"
    assert grouped(12345) == "12.345"


@pytest.mark.usefixtures("german")
def test_times_and_numbers_arrive_as_the_viewer_writes_them() -> None:
    """Wherever the language puts them."""
    at, paris = datetime(2026, 7, 1, 3, tzinfo=UTC), ZoneInfo("Europe/Paris")
    began = said(
        "It began at {at} on {worker} and failed: {why}.", at=Moment(at, paris), worker="w@1", why=said("nothing")
    )
    assert translated(began) == f"Auf w@1 begann er am {clock_time(at, paris)} und scheiterte: nichts."
    assert "2026-07-01" not in translated(began)
    assert translated(said("{number:,} or more", number=1000)) == "mindestens 1.000"
    assert translated(figure(12345)) == "12.345"
    assert translated(said("{one:g} {much:,.1f}", one=0.5, much=1234.56)) == "0,5 1.234,6"
    assert translated(said("{is_so}", is_so=True)) == "True"


@pytest.mark.usefixtures("german")
def test_an_error_is_translated_whole() -> None:
    error = InvalidValue("limit", 9, said("give at most {most:,}", most=5))
    assert translated(error) == "limit: 9 geht nicht: höchstens 5 angeben"
    assert str(error) == "limit: 9 is not accepted: give at most 5"


@pytest.mark.parametrize("text", ["", "as it is", said("")])
@pytest.mark.usefixtures("german")
def test_what_nobody_said_stays_as_it_is(text: str) -> None:
    """An empty message would be answered with the catalog's own header."""
    assert translated(text) == text
