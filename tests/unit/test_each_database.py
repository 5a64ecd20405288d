"""What asks which database it has is tested on each of them, also by the shorter run of `make test`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.each_database import INTEGRATION, is_whole, listed, names_that_differ

PACKAGE = Path(__file__).parents[2] / "routines_app"
DIFFERS = re.compile(r"\.vendor\b|\bis_postgresql\(|_portably\(|\bhas_select_for_update|\bmysql_is_mariadb|\bRawSQL\(")
TESTED_BY = {
    "admin/fleet_facts.py": ("admin/test_fleet_page.py", "test_the_fleet_tells_what_runs_waits_and_is_there"),
    "admin/recent.py": ("admin/test_recent.py", "test_each_routine_has_its_own_slots_in_one_question"),
    "admin/tag_filter.py": ("admin/test_routine_filters.py", "test_tags_are_added_and_taken_away_by_their_links"),
    "beat/sender.py": ("beat/test_sender.py", "test_a_database_with_one_writer_gets_no_second_one"),
    "checks.py": ("test_checks.py", "test_the_tests_own_project_passes"),
    "execution/heart.py": (
        "execution/test_pacemaker.py",
        "test_the_runs_of_living_children_are_stamped_and_their_leases_kept",
    ),
    "models/index_beside.py": ("schema/test_migrations.py", "test_indexes_can_be_made_again_after_a_cut"),
    "verbs/checking/selecting.py": ("verbs/test_hints_taken_back.py", "test_tags_are_exact"),
    "verbs/doctor/database.py": ("verbs/doctor/test_database.py", "test_a_database_that_is_supported"),
    "verbs/doctor/schema.py": ("verbs/doctor/test_schema.py", "test_a_key_that_keeps_old_runs"),
    "verbs/plan_leases.py": ("verbs/test_plan_leases_and_beats.py", "test_the_plan_is_what_a_beat_then_does"),
    "verbs/reading.py": ("verbs/test_reading.py", "test_each_filter_has_its_own_limit_and_order_in_one_statement"),
    "verbs/rotations/same_names.py": (
        "verbs/rotations/test_seed.py",
        "test_names_that_the_database_takes_for_one_are_refused_before_anything_is_written",
    ),
    "verbs/run_selection.py": ("admin/test_runs.py", "test_every_filter_finds_its_runs"),
    "verbs/search_index.py": (
        "admin/test_routine_filters.py",
        "test_the_index_for_parts_of_names_is_made_or_refused_with_a_reason",
    ),
}
"""Of the modules whose folder does not run on each database as a whole: where their other ways are tried."""
BY_THEMSELVES = {"migrations", "protocol"}
"""Migrations run on each database before any test does; the protocol's two ways stand in `protocol/conformance`."""


def modules_that_ask() -> set[str]:
    found = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if DIFFERS.search(path.read_text())}
    return {str(path) for path in found if path.parts[0] not in BY_THEMSELVES}


def test_every_module_that_asks_names_its_test() -> None:
    """A new one names a test in TESTED_BY that asks for the vendor, or has the mark `each_database`."""
    assert modules_that_ask() == set(TESTED_BY)


def test_the_tests_that_are_listed_are_there() -> None:
    """One that was given another name would run on PostgreSQL alone, and the statement that only it asks with it."""
    texts = {name: (PACKAGE.parent / name).read_text() for name in {test.partition("::")[0] for test in listed()}}
    gone = [test for test in listed() if f"def {name_of(test)}(" not in texts[test.partition("::")[0]]]

    assert gone == [], "give them their new names in tests/statements.txt"


def name_of(test: str) -> str:
    return test.partition("::")[2].partition("[")[0].rpartition("::")[2]


@pytest.mark.parametrize(("module", "name"), sorted(TESTED_BY.values()))
def test_the_test_that_is_named_runs_on_each_database(module: str, name: str) -> None:
    """By the rule, or by a mark of its own or of its module; a list that is made anew may leave it out."""
    path = INTEGRATION / module
    decorated, definition, _ = path.read_text(encoding="utf-8").partition(f"\ndef {name}(")
    marks = decorated.rpartition("\n\n\n")[2] + "".join(re.findall(r"^pytestmark = .*", decorated, re.MULTILINE))

    assert definition
    assert is_whole(path) or name in differing_tests(path) or "pytest.mark.each_database" in marks


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

async def test_that_awaits(stranger): ...
"""
DIFFERENT = {"test_decorated", "test_with_a_fixture", "TestAll", "test_that_awaits"}
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

    assert differing_tests(module) == DIFFERENT
    assert differing_tests(whole) == DIFFERENT | {"test_of_words"}
    assert differing_tests(neither) == set()


def test_what_the_rule_cannot_read_is_no_test_that_is_left_out(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text("from django.db import connection\nif connection.vendor:\n    def test_of_one(): ...")

    with pytest.raises(ValueError, match="line 2: what a If of a test module defines"):
        names_that_differ(module)


def differing_tests(module: Path) -> set[str]:
    return {name for name in names_that_differ(module) if name.startswith(("test_", "Test"))}
