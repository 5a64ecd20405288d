"""docs/rotations.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunTrigger
from tests.integration.conftest import NOTE
from tests.integration.test_adaptive_page import BLOCK, answer, typed

PAGE = Path(__file__).parents[2] / "docs" / "rotations.md"
SEEDS = "# shop/seeds.py\n"


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(re.sub(r"shop\.tasks\.\w+", NOTE, PAGE.read_text(encoding="utf-8")))


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that the page shows, where the page says that it is."""
    source = next(text for kind, text in blocks() if kind == "python" and text.startswith(SEEDS))
    package, seeds = ModuleType("shop"), ModuleType("shop.seeds")
    package.__path__ = []
    package.seeds = seeds  # type: ignore[attr-defined]
    exec(compile(source, "shop/seeds.py", "exec"), seeds.__dict__)
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.seeds", seeds)


@pytest.fixture
def known(transactional_db: None, redis_url: str, time: Any, shop: None) -> dict[str, Any]:
    """What the page's Python has left, its commands typed in between."""
    known: dict[str, Any] = {}
    for kind, text in blocks():
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), known)
            continue
        for command, printed in typed(text):
            found = answer(command)
            if printed:
                assert found == printed, command
    return known


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
    shown = [printed for kind, text in blocks() if kind == "console" for _, printed in typed(text) if printed]
    assert len(shown) >= 2


def test_the_page_names_every_key_of_a_ticks_result(known: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in known["saw"] if f"`{key}`" not in text] == []
