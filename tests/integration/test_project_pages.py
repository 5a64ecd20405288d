"""Pages whose blocks are the files of a small project: its tests pass, as they stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import Project, blocks

PAGES = ["docs/idempotency.md", "docs/retries.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_of_the_page_pass(page: str, tmp_path: Path) -> None:
    project = Project(tmp_path, page)
    code, printed = project.test()
    assert code == 0, printed
    assert f"{project.tests} passed" in printed
    assert {block.language for block in blocks(page)} == {"python"}
