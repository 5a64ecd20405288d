"""docs/routines-in-code.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from celery.app import app_or_default
from pytest_django import Settings

from routines_app import service
from routines_app.models import Routine
from tests.integration.conftest import Code
from tests.integration.test_adaptive_page import BLOCK, answer, typed

PAGE = Path(__file__).parents[2] / "docs" / "routines-in-code.md"
FILE = re.compile(r"^# ([\w/]+)\.py\n")


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def shop(code: Code, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The files that the page shows, as modules where it says that they are; its tasks are gone after the test."""
    service.registered_tasks()
    registered = app_or_default().tasks
    before, made = set(registered), {}
    for kind, text in blocks():
        if kind == "python" and (name := FILE.match(text)):
            path = name[1].replace("/", ".")
            made[path] = ModuleType(path)
            monkeypatch.setitem(sys.modules, path, made[path])
            exec(compile(text, f"{name[1]}.py", "exec"), made[path].__dict__)
    settings.ROUTINES = settings.ROUTINES | made["project.settings"].ROUTINES
    yield made
    for task in set(registered) - before:
        del registered[task]


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true(shop: dict[str, ModuleType]) -> None:
    known: dict[str, Any] = {}
    shown = 0
    for kind, text in blocks():
        if kind == "python" and not FILE.match(text):
            exec(compile(text, PAGE.name, "exec"), known)
        for command, printed in typed(text) if kind == "console" else ():
            found = answer(command)
            if printed:
                shown += 1
                assert found == printed, command
    assert shown == 2
    assert known["differs"] == {"cron": "0 3 * * *", "timeout_ms": None}
    routine = Routine.objects.get(name="nightly-report")
    assert (routine.cron, routine.timeout_ms, routine.timezone) == ("0 3 * * *", None, "Europe/Berlin")
    assert Routine.objects.get(name="shop.clean_up").task == "shop.tasks.clean_up"

    for _ in range(2):
        shop["shop.migrations.0001_routines"].ensure(None, None)
    assert Routine.objects.get(name="import-prices").version == 1
