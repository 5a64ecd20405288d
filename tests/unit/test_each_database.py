"""What asks which database it has is tested on each of them, also by the shorter run of `make test`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.each_database import INTEGRATION, is_whole, listed, names_that_differ

PACKAGE = Path(__file__).parents[2] / "routines_app"
DIFFERS = re.compile(r"\.vendor\b|\bis_postgresql\(|_portably\(|\bhas_select_for_update|\bmysql_is_mariadb|\bRawSQL\(")
TESTED_BY = {
    "admin/fleet_facts.py": "admin/test_fleet_page.py",
    "admin/recent.py": "admin/test_recent.py",
    "admin/tag_filter.py": "admin/test_routine_filters.py",
    "beat/sender.py": "beat/test_sender.py",
    "checks.py": "test_checks.py",
    "execution/heart.py": "execution/test_heart.py",
    "models/index_beside.py": "schema/test_migrations.py",
    "verbs/checking/selecting.py": "verbs/test_hints_taken_back.py",
    "verbs/doctor/database.py": "verbs/doctor/test_database.py",
    "verbs/doctor/schema.py": "verbs/doctor/test_schema.py",
    "verbs/plan_leases.py": "verbs/test_plan_leases_and_beats.py",
    "verbs/reading.py": "verbs/test_reading.py",
    "verbs/rotations/same_names.py": "verbs/rotations/test_seed.py",
    "verbs/run_selection.py": "admin/test_runs.py",
    "verbs/search_index.py": "admin/test_routine_filters.py",
}
"""Of the modules whose folder does not run on each database as a whole: where their other ways are tried."""
BY_THEMSELVES = {"migrations", "protocol"}
"""Migrations run on each database before any test does; the protocol's two ways stand in `protocol/conformance`."""


def modules_that_ask() -> set[str]:
    found = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if DIFFERS.search(path.read_text())}
    return {str(path) for path in found if path.parts[0] not in BY_THEMSELVES}


def test_every_module_that_asks_names_its_test() -> None:
    """A new one names a test in TESTED_BY, whose module asks for the vendor or has a test with `each_database`."""
    assert modules_that_ask() == set(TESTED_BY)


def test_the_tests_that_are_listed_are_there() -> None:
    """One that was given another name would run on PostgreSQL alone, and the statement that only it asks with it."""
    texts = {name: (PACKAGE.parent / name).read_text() for name in {test.partition("::")[0] for test in listed()}}
    gone = [test for test in listed() if f"def {name_of(test)}(" not in texts[test.partition("::")[0]]]

    assert gone == [], "give them their new names in tests/statements.txt"


def name_of(test: str) -> str:
    return test.partition("::")[2].partition("[")[0].rpartition("::")[2]


@pytest.mark.parametrize("module", sorted(TESTED_BY.values()))
def test_the_test_that_is_named_runs_on_each_database(module: str) -> None:
    path = INTEGRATION / module
    is_marked = "pytest.mark.each_database" in path.read_text(encoding="utf-8")

    assert is_whole(path) or differing_tests(path) or is_marked


MODULE = """
from django.db import connection
from tests.integration.holding import held

def lacks_arrays():
    return not connection.features.arrays

arrays = pytest.mark.skipif(lacks_arrays(), reason="no arrays")

@pytest.fixture
def stranger():
    return held()

@arrays
def test_decorated(): ...

def test_with_a_fixture(stranger): ...

@pytest.mark.usefixtures("stranger")
class TestAll:
    def test_in_a_class(self): ...

def test_of_words(): ...
"""
ALL_OF_THEM = """
@pytest.fixture(autouse=True)
def stranger():
    return held()
"""


def test_what_a_test_uses_says_whether_databases_differ(tmp_path: Path) -> None:
    module, whole, neither = tmp_path / "one.py", tmp_path / "whole.py", tmp_path / "neither.py"
    module.write_text(MODULE)
    whole.write_text(MODULE + ALL_OF_THEM)
    neither.write_text("def test_of_words(): ...")

    assert differing_tests(module) == {"test_decorated", "test_with_a_fixture", "TestAll"}
    assert differing_tests(whole) == {"test_decorated", "test_with_a_fixture", "TestAll", "test_of_words"}
    assert differing_tests(neither) == set()


def differing_tests(module: Path) -> set[str]:
    return {name for name in names_that_differ(module) if name.startswith(("test_", "Test"))}
