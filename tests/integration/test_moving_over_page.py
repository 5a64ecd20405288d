"""docs/moving-over.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import pytest

from tests.integration.conftest import NOTE
from tests.pages import Reader, shown, text_of

PAGE = "docs/moving-over.md"


@pytest.mark.usefixtures("django_celery_beat", "transactional_db", "redis_url", "time")
def test_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Reader(monkeypatch, {r"shop\.tasks\.sync": NOTE}).walk(PAGE)
    assert known["shadowed"] == ["night", "opening", "stock"]
    assert known["entries"] == [("django-celery-beat", name, None) for name in known["shadowed"]]


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    assert len(shown(PAGE)) >= 1


def test_the_page_names_each_check_of_moving_over() -> None:
    text = text_of(PAGE)
    assert all(f"`routines.{number}`" in text for number in ("W022", "W023"))
