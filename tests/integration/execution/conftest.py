"""A ledger and an empty Redis for every test of the executor, and no thread that outlives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from routines_app.execution import background
from routines_app.execution.board import Board
from tests.integration.execution.children import process


@pytest.fixture(autouse=True)
def alone(ledger: None, short_lived_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with nothing that runs and leaves nothing that does."""
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.0)


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def child() -> Iterator[int]:
    """A process that does nothing but live."""
    with process() as pid:
        yield pid


@pytest.fixture
def other_child() -> Iterator[int]:
    with process() as pid:
        yield pid
