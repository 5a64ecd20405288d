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
