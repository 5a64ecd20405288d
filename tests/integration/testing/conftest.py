"""Routines to test with, and a process that can reach neither a broker nor a Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery.app import app_or_default
from django.db import connection

from routines_app import service
from routines_app.models import Routine
from routines_app.testing import FrozenClock, frozen_clock
from tests.integration.testing import tasks

NIGHT = "2026-03-02T02:59:00+00:00"  # a Monday
THREE = datetime(2026, 3, 2, 3, tzinfo=UTC)
CLOSED_PORT = "redis://127.0.0.1:1/0"

Make = Callable[..., Routine]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    tasks.seen.clear()
    tasks.meanwhile.clear()


@pytest.fixture
def nowhere(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project whose broker and Redis do not answer."""
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": CLOSED_PORT}
    monkeypatch.setattr(app_or_default().conf, "broker_url", CLOSED_PORT)


@pytest.fixture(
    params=[
        pytest.param("one transaction", marks=pytest.mark.django_db),
        pytest.param("real commits", marks=pytest.mark.django_db(transaction=True)),
    ]
)
def either(request: pytest.FixtureRequest) -> str:
    """As in a TestCase, and as in a TransactionTestCase."""
    assert connection.in_atomic_block == (request.param == "one transaction")
    return str(request.param)


@pytest.fixture
def clock() -> Iterator[FrozenClock]:
    with frozen_clock(NIGHT) as clock:
        yield clock


@pytest.fixture
def nightly(either: str, nowhere: None, clock: FrozenClock) -> Make:
    """Make a routine that fires at three in the morning, a minute after the clock's begin."""

    def make(task: str = "say", name: str = "nightly", **values: Any) -> Routine:
        schedule = {} if {"every", "cron", "rotation"} & values.keys() else {"cron": "0 3 * * *"}
        return service.create_routine(
            name, **({"task": f"{tasks.__name__}.{task}", "timezone": "UTC"} | schedule | values)
        )

    return make
