"""docs/adaptive.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from routines_app.models import Pool
from tests.integration.conftest import NOTE

PAGE = Path(__file__).parents[2] / "docs" / "adaptive.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ python manage.py "


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8").replace("shop.tasks.sync", NOTE))


def typed(console: str) -> Iterator[tuple[str, list[str]]]:
    """Each command, and the lines that the page shows below it."""
    for part in console.split(PROMPT)[1:]:
        command, *printed = part.splitlines()
        yield command, printed


def answer(command: str) -> list[str]:
    out = StringIO()
    call_command(*shlex.split(command), stdout=out)
    return out.getvalue().splitlines()


@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_page_is_true() -> None:
    """A pool's id is what the database has counted up to, and its column as wide as that."""
    known: dict[str, Any] = {}
    for kind, text in blocks():
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), known)
            continue
        for command, printed in typed(text):
            found = answer(command)
            if printed:
                first = str(Pool.objects.earliest("pk").pk)
                found = [re.sub(rf"^{first}\b", "1", line) for line in found]
                assert [line.split() for line in found] == [line.split() for line in printed], command
    assert (known["slowed"], known["full"]) == (4, [])
    assert [(position, name) for position, name, _ in known["waits"]] == [(1, "orders"), (2, "stock")]
    assert known["plan"].differences
    assert {each.pool for each in known["later"].decisions} == {"db"}


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    shown = [printed for kind, text in blocks() if kind == "console" for _, printed in typed(text) if printed]
    assert len(shown) >= 4
