"""docs/export.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from routines_app.verbs.exports import fields
from tests.integration.conftest import NOTE
from tests.pages import Reader, shown, text_of

PAGE = "docs/export.md"
TASKS = {r"shop\.tasks\.report": NOTE, r"shop\.tasks\.clean": "tests.acceptance.tasks.fail"}


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = Reader(monkeypatch, TASKS).walk(PAGE)
    assert known["changes"] == [("cleanup", "every", "1h", "2h")]
    assert known["done"] == known["plan"]


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    assert len(shown(PAGE)) == 4


def test_the_page_names_what_no_column_says() -> None:
    assert [word for word in fields.BESIDES if f"`{word}:" not in text_of(PAGE)] == []
