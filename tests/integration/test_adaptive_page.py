"""docs/adaptive.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import re

import pytest

from routines_app.models import Pool
from tests.integration.conftest import NOTE
from tests.pages import Reader, shown

PAGE = "docs/adaptive.md"


def but_for_ids(command: str, found: list[str], printed: list[str]) -> None:
    """A pool's id is what the database has counted up to, and its column as wide as that."""
    first = str(Pool.objects.earliest("pk").pk)
    found = [re.sub(rf"^{first}\b", "1", line) for line in found]
    assert [line.split() for line in found] == [line.split() for line in printed], command


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Reader(monkeypatch, {r"shop\.tasks\.sync": NOTE}).walk(PAGE, but_for_ids)
    assert (known["slowed"], known["full"]) == (4, [])
    assert [(position, name) for position, name, _ in known["waits"]] == [(1, "orders"), (2, "stock")]
    assert known["plan"].differences
    assert known["agenda"].pools[0].name == "db"
    assert {each.pool for each in known["later"].decisions} == {"db"}


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    assert len(shown(PAGE)) >= 4
