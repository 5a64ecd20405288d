"""A clock that tests set, and a routine that they do things to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.models import Routine
from routines_app.protocol.ledger import clock

NOTE = "tests.acceptance.tasks.note"
MONDAY = datetime(2026, 3, 2, 10, 0, 30, tzinfo=UTC)


class Time:
    """The ledger's time, standing still until it is moved."""

    def __init__(self) -> None:
        self.now = MONDAY

    def pass_by(self, **length: float) -> datetime:
        self.now += timedelta(**length)
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(clock, "now", lambda: time.now)
    return time


@pytest.fixture
def make(db: None, time: Time) -> Callable[..., Routine]:
    """Create a routine of the `note` task."""

    def make(name: str = "report", **values: Any) -> Routine:
        return service.create_routine(name, **({"task": NOTE} | values))

    return make
