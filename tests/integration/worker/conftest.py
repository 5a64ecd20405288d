"""A ledger and an empty Redis for every test, and executed runs without a worker process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from routines_app.execution import heart, renewal, watchdog
from routines_app.execution.executor import Delivery, execute
from routines_app.models import RoutineRun
from tests.processes import wait_for

Execute = Callable[..., RoutineRun]


@pytest.fixture(autouse=True)
def ledger(transactional_db: None, redis_url: str) -> None:
    """Real commits: what is tested here happens between transactions."""


@pytest.fixture(autouse=True)
def short_lived_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The heart ends with its last run, so that no connection outlives a test."""
    monkeypatch.setattr(heart, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(renewal, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(watchdog, "IDLE_SECONDS", 0.0)
    yield
    ours = ("routines-heart", "routines-renewal", "routines-record", "routines-background")
    wait_for(lambda: not any(t.name in ours for t in threading.enumerate()), 15, "a thread of ours lives on")


@pytest.fixture
def run_it() -> Execute:
    """Execute a PENDING run in this process, as a worker would; returns its row afterwards."""

    def run(row: RoutineRun, **options: Any) -> RoutineRun:
        execute(Delivery(run_id=row.id, hostname="test@here", **options))
        return RoutineRun.objects.get(id=row.id)

    return run
