"""docs/rotations.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunTrigger
from tests.integration.conftest import NOTE
from tests.pages import Reader, shown, text_of

PAGE = "docs/rotations.md"


@pytest.fixture
def known(transactional_db: None, redis_url: str, time: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the page's Python has left, its commands typed in between."""
    return Reader(monkeypatch, {r"shop\.tasks\.\w+": NOTE}).walk(PAGE)


def test_the_page_is_true(known: dict[str, Any]) -> None:
    assert known["added"] == service.MembersAdded(created=3)
    assert known["counts"] == (3, 1, 2, 0)
    assert [name for name, _ in known["whys"]] == ["feed: sport"]
    assert known["seeded"].created == 3
    assert known["saw"].keys() == {
        "picked",
        "owed",
        "in_flight",
        "budget",
        "max_in_flight",
        "idle_multiplier",
        "seeding",
    }
    assert [(pick["name"], pick["phase"]) for pick in known["saw"]["picked"]] == [
        ("document: terms", "plan"),
        ("document: imprint", "plan"),
    ]
    assert (known["run"].trigger, known["run"].tick) == (RunTrigger.MANUAL, None)
    assert service.audit().balances


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    assert len(shown(PAGE)) >= 2


def test_the_page_names_every_key_of_a_ticks_result(known: dict[str, Any]) -> None:
    assert [key for key in known["saw"] if f"`{key}`" not in text_of(PAGE)] == []
