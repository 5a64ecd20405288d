"""README.md: its blocks outside of the install section, which `tests/acceptance/test_readme.py` does word for word."""

from __future__ import annotations

from typing import Any

import pytest
from celery.app import app_or_default

from routines_app import declaring, service
from tests.integration.conftest import NOTE, Code, Execute
from tests.pages import Reader, blocks, passing_tasks, text_of

PAGE = "README.md"
INSTALL = "Install in your project"
IN_A_BODY = "run = current_run()"


def is_done_elsewhere(block: Any) -> bool:
    """The install section; what stands in a task's body; the diagram, which has no language."""
    return block.section == INSTALL or IN_A_BODY in block.text or (block.section, block.language) == ("Concepts", "")


@pytest.mark.usefixtures("django_celery_beat", "transactional_db", "redis_url", "time")
def test_its_blocks_can_be_run(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create_routine("nightly-report", task=NOTE)
    with passing_tasks():
        Reader(monkeypatch).walk(PAGE, leave_out=is_done_elsewhere)
    assert [each.name for each in declaring._declared] == ["nightly-report"]


@pytest.mark.usefixtures("ledger", "short_lived_threads")
def test_what_it_says_about_a_body_can_be_done_in_one(run_it: Execute) -> None:
    """The block is the body of a task."""
    (block,) = (block for block in blocks(PAGE, "python") if IN_A_BODY in block.text)

    @app_or_default().task(name="tests.readme")
    def body() -> None:
        exec(compile(block.text, PAGE, "exec"), {"count": 12})

    try:
        service.create_routine("body", task="tests.readme")
        run = run_it(service.run_now("body"))
    finally:
        del app_or_default().tasks["tests.readme"]
    assert (run.status, run.error) == ("SUCCESS", "")


def test_it_is_short() -> None:
    assert len(text_of(PAGE).splitlines()) <= 250
