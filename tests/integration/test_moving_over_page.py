"""docs/moving-over.md, word for word: its Python is run, its commands are typed, and they print what it shows."""

from __future__ import annotations

import shlex
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.integration.conftest import NOTE
from tests.integration.test_adaptive_page import BLOCK, typed

PAGE = Path(__file__).parents[2] / "docs" / "moving-over.md"


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8").replace("shop.tasks.sync", NOTE))


def answer(command: str) -> list[str]:
    """What it prints; a dry run that has found something leaves with 1."""
    out = StringIO()
    with suppress(SystemExit):
        call_command(*shlex.split(command), stdout=out)
    return out.getvalue().splitlines()


@pytest.mark.usefixtures("django_celery_beat", "transactional_db", "redis_url", "time")
def test_the_page_is_true() -> None:
    known: dict[str, Any] = {}
    for kind, text in blocks():
        if kind == "python":
            exec(compile(text, PAGE.name, "exec"), known)
            continue
        for command, printed in typed(text):
            found = answer(command)
            if printed:
                assert found == [line for line in printed if line], command
    assert known["shadowed"] == ["night", "opening", "stock"]
    assert known["entries"] == [("django-celery-beat", name, None) for name in known["shadowed"]]


def test_the_page_shows_what_something_prints() -> None:
    """Or the test above would compare nothing."""
    shown = [printed for kind, text in blocks() if kind == "console" for _, printed in typed(text) if printed]
    assert len(shown) >= 1


def test_the_page_names_each_check_of_moving_over() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`routines.{number}`" in text for number in ("W022", "W023"))
