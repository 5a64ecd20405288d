"""docs/export.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from routines_app.verbs.exports import fields
from tests.integration.conftest import NOTE
from tests.integration.test_adaptive_page import BLOCK, answer, typed

PAGE = Path(__file__).parents[2] / "docs" / "export.md"
TASKS = {"shop.tasks.report": NOTE, "shop.tasks.clean": "tests.acceptance.tasks.fail"}


def blocks() -> list[tuple[str, str]]:
    text = PAGE.read_text(encoding="utf-8")
    for name, task in TASKS.items():
        text = text.replace(name, task)
    return BLOCK.findall(text)


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for kind, text in blocks():
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), known)
            continue
        for command, printed in typed(text):
            assert answer(command) == [line for line in printed if line], command
    assert known["changes"] == [("cleanup", "every", "1h", "2h")]
    assert known["done"] == known["plan"]


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    shown = [printed for kind, text in blocks() if kind == "console" for _, printed in typed(text) if printed]
    assert len(shown) == 4


def test_the_page_names_what_no_column_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [word for word in fields.BESIDES if f"`{word}:" not in text] == []
