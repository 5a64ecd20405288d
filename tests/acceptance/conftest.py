"""Stacks of real processes, and their logs in the report of a test that failed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.acceptance.fault import Fault
from tests.acceptance.installed import python, wheel  # noqa: F401 - fixtures
from tests.acceptance.stack import Stack
from tests.oracle import judge_bodies

StackFactory = Callable[..., Stack]
STACKS = pytest.StashKey[list[Stack]]()
LONGEST = [
    "test_the_sdist_can_import_every_test_and_run_them",
    "test_both_side_by_side_and_then_ours",
    "test_the_demo_runs_every_routine_that_should_run",
    "test_fault_14_exclusive_work_waits_for_redis_and_all_other_work_goes_on",
    "test_back_to_the_old_beat",
    "test_fault_30_beat_workers_and_admin_share_a_sqlite_file",
    "test_fault_36_a_body_that_holds_the_gil_is_not_taken_for_dead",
    "test_fault_15_a_killed_database_orphans_nobody_and_is_missed_for_five_seconds",
    "test_fault_04_ten_thousand_routines_due_at_once_are_each_fired_once",
    "test_a_killed_beat_and_a_killed_worker_lose_and_double_nothing",
    "test_the_install_section_works_word_for_word",
    "test_fault_36_a_child_beats_by_itself_when_its_parent_is_frozen",
    "test_fault_08_a_killed_worker_is_found_and_its_run_retried",
    "test_fault_31_a_locked_run_row_silences_no_worker",
]
"""Those that take more than half a minute on a busy machine. They begin first, or the end is one of them, alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.name.partition("[")[0], len(LONGEST)))


@pytest.fixture
def make_stack(
    request: pytest.FixtureRequest, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> Iterator[StackFactory]:
    """Builds a `Stack` with the options of its constructor; disposed of after the test."""
    stacks: list[Stack] = request.node.stash.setdefault(STACKS, [])

    def build(**options: Any) -> Stack:
        directory = tmp_path / f"stack{len(stacks)}"
        directory.mkdir()
        stacks.append(Stack(directory, **options))
        return stacks[-1]

    with django_db_blocker.unblock():
        yield build
        while stacks:
            stacks.pop().dispose()


@pytest.fixture
def stack(make_stack: StackFactory) -> Stack:
    """A stack on the run's PostgreSQL with its own Redis."""
    return make_stack()


@pytest.fixture
def fault(
    request: pytest.FixtureRequest, make_stack: StackFactory, record_property: Callable[[str, object], None]
) -> Iterator[Fault]:
    """For the test of a row of faults.md: tells what it measured, and lets the oracle judge all bodies afterwards."""
    yield Fault(record_property)
    for stack in request.node.stash[STACKS]:
        verdict = judge_bodies(stack.bodies)
        assert verdict.balances, verdict.page()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for stack in item.stash.get(STACKS, []):
            report.sections.append(("Processes", stack.logs()))
    return report
