"""docs/routines-in-code.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from routines_app.models import Routine
from tests.integration.conftest import Code
from tests.pages import Reader, blocks, passing_tasks, shown

PAGE = "docs/routines-in-code.md"


@pytest.fixture
def reader(code: Code, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Somebody who has written down all files that the page shows; its tasks are gone after the test."""
    reader = Reader(monkeypatch)
    with passing_tasks():
        for block in blocks(PAGE, "python"):
            if block.file:
                reader.do(block)
        settings.ROUTINES = settings.ROUTINES | reader.modules["project.settings"].ROUTINES
        yield reader


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true(reader: Reader) -> None:
    known = reader.walk(PAGE, leave_out=lambda block: block.file)
    assert len(shown(PAGE)) == 2
    assert known["differs"] == {"cron": "0 3 * * *", "timeout_ms": None}
    routine = Routine.objects.get(name="nightly-report")
    assert (routine.cron, routine.timeout_ms, routine.timezone) == ("0 3 * * *", None, "Europe/Berlin")
    assert Routine.objects.get(name="shop.clean_up").task == "shop.tasks.clean_up"

    for _ in range(2):
        reader.modules["shop.migrations.0001_routines"].ensure(None, None)
    assert Routine.objects.get(name="import-prices").version == 1
