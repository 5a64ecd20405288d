"""Every block of every page is run: by a test of the page's own, or here, from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import NOTE, Code
from tests.pages import NOT_RUN, ROOT, Reader, blocks, pages, passing_tasks, text_of, typed

OWN = {
    "README.md": "tests/integration/test_readme_page.py",
    "docs/adaptive.md": "tests/integration/test_adaptive_page.py",
    "docs/export.md": "tests/integration/test_export_page.py",
    "docs/idempotency.md": "tests/integration/test_project_pages.py",
    "docs/moving-over.md": "tests/integration/test_moving_over_page.py",
    "docs/production.md": "tests/integration/test_production_page.py",
    "docs/retries.md": "tests/integration/test_project_pages.py",
    "docs/rotations.md": "tests/integration/test_rotations_page.py",
    "docs/routines-in-code.md": "tests/integration/test_routines_in_code_page.py",
    "docs/testing.md": "tests/integration/test_testing_page.py",
}
"""Pages that want more than to be walked, and who does that. Each takes all blocks of its page."""

LEFT_OUT = {("CONTRIBUTING.md", "A fault test"): "a pattern to fill in; tests/acceptance/faults has the real ones"}
"""Blocks that cannot be run, by page and section, and why."""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, code: Code, tmp_path: Path) -> Iterator[Reader]:
    """In an empty directory; the tasks that a page shows are gone after the test."""
    monkeypatch.chdir(tmp_path)
    with passing_tasks():
        yield Reader(monkeypatch)


@pytest.mark.parametrize("page", [page for page in pages() if page not in OWN])
@pytest.mark.usefixtures("transactional_db", "redis_url", "time")
def test_the_blocks_of_a_page_can_be_run(page: str, reader: Reader) -> None:
    """Tasks that the page names and does not show are stood in for."""
    if not any(block.file == "shop/tasks.py" for block in blocks(page)):
        reader.tasks = {r"shop\.tasks\.\w+": NOTE}
    reader.walk(page, leave_out=lambda block: (block.page, block.section) in LEFT_OUT)


@pytest.mark.parametrize(("page", "test"), OWN.items())
def test_a_page_with_a_test_of_its_own_is_run_there(page: str, test: str) -> None:
    assert f'"{page}"' in (ROOT / test).read_text(encoding="utf-8")
    assert blocks(page)


@pytest.mark.parametrize("page", pages())
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`((?:tests|benchmarks|routines_app|\.ci)/[\w./]+)`", text_of(page))
    assert [name for name in named if "_NN_" not in name and not (ROOT / name).exists()] == []


def test_nothing_is_left_out_that_is_not_there() -> None:
    """A reason for something that is gone would hide the next one of its name."""
    found = {(block.page, block.section) for page in pages() for block in blocks(page)}
    assert LEFT_OUT.keys() <= found
    commands = [command for page in pages() for block in blocks(page, "console") for command, _ in typed(block.text)]
    assert [begin for begin in NOT_RUN if not any(command.startswith(begin) for command in commands)] == []
