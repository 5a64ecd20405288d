"""docs/testing.md, word for word: its blocks are the files of a project, whose tests are run as the page says.

The project can reach neither a broker nor a Redis: its settings name ports that nobody listens at.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import Project, blocks

PAGE = "docs/testing.md"
FAILS = """
import pytest
from routines_app import service
from routines_app.testing import assert_ran, run_due
from shop import bank


@pytest.mark.django_db
@pytest.mark.routines_clock("2026-03-02T02:59:00+00:00")
def test_that_fails(routines_clock, monkeypatch):
    monkeypatch.setattr(bank, "count_orders", lambda: 1 / 0)
    service.create_routine("report", task="shop.tasks.report", cron="0 3 * * *", timezone="UTC", max_attempts=2)
    run_due("2026-03-02T03:00:00+00:00")
    assert_ran("report", at="2026-03-02T03:00:00+00:00")


@pytest.mark.routines_clock("2026-03-02T02:59:00")
def test_without_an_offset(routines_clock):
    pass


@pytest.mark.routines_clock(2026, 3, 2)
def test_with_numbers(routines_clock):
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, PAGE)


def test_the_tests_of_the_page_pass(project: Project) -> None:
    code, printed = project.test()
    assert code == 0, printed
    assert f"{project.tests + 2} passed" in printed, "one of them has three cases"


def test_the_test_case_of_the_page_passes_without_pytest(project: Project) -> None:
    """Where it is not installed, importing it fails."""
    project.write("pytest.py", "raise ImportError('not installed')")
    code, printed = project.run("django", "test", "shop")
    assert code == 0, printed
    assert "Ran 2 tests" in printed


def test_a_failing_assertion_prints_what_the_page_shows(project: Project) -> None:
    project.write("test_that_fails.py", FAILS)
    code, printed = project.test("test_that_fails.py")
    assert code == 1
    (shown,) = blocks(PAGE, "text")
    lines = [line.removeprefix("E").strip() for line in printed.splitlines()]
    assert [line for line in shown.text.splitlines() if line not in lines] == [], printed
    for given in ("at: '2026-03-02T02:59:00'", "routines_clock: (2026, 3, 2)"):
        assert any(f"{given} is not accepted: give a moment with its offset" in line for line in lines), printed


def test_its_blocks_are_files_and_that_one_message() -> None:
    """Or some of them would not be run."""
    assert {block.language for block in blocks(PAGE)} == {"python", "text"}
