"""What integration tests ask for: a clock that they set, routines to do things to, runs without a worker, people."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from celery.app import app_or_default
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db.models import Min
from django.test import Client

from routines_app import declare, declaring, service
from routines_app.admin import fleet_page
from routines_app.execution import heart, renewal, watchdog
from routines_app.execution.executor import Delivery, execute
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim import claim
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import apart, clock
from routines_app.verbs import upcoming
from routines_app.verbs.health.notices import ask as notices
from tests.integration.old_schedulers import (  # noqa: F401 - fixtures
    add_entry,
    beat_schedule,
    django_celery_beat,
    redbeat_app,
)
from tests.processes import wait_for

NOTE = "tests.acceptance.tasks.note"
MONDAY = datetime(2026, 3, 2, 10, 0, 30, tzinfo=UTC)
OUR_THREADS = ("routines-heart", "routines-renewal", "routines-record", "routines-background")

Execute = Callable[..., RoutineRun]
Current = Callable[[Celery], None]
Login = Callable[..., Client]


@pytest.fixture(autouse=True)
def looks_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, too, a look comes to its end: what it leaves for the next one is what a test says."""
    monkeypatch.setattr(apart, "APART_SECONDS", 60.0)
    monkeypatch.setattr(claim, "DECIDE_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def nothing_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pages share in Django's cache is about the rows of another test. Nor is it old however long a test takes:
    a thread that asks anew beside it would not see what the test has not committed."""
    cache.clear()
    for module in (fleet_page, notices, upcoming):
        monkeypatch.setattr(module, "FRESH_SECONDS", 3600)


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


class Hours:
    """Simulated hours that pass with a beat looking every few seconds, or without any."""

    def __init__(self) -> None:
        # Run ids carry the real time: the simulated one is ahead of it.
        self.now = datetime.now(UTC).replace(minute=0, second=30, microsecond=0) + timedelta(hours=1)
        self.began = self.now

    def pass_by(self, *, beat: bool = True, every: int = 10, **length: float) -> None:
        """The looks at which nothing is due are left out: they would find nothing."""
        end, step = self.now + timedelta(**length), timedelta(seconds=every)
        while beat and (due := RoutineState.objects.aggregate(at=Min("next_run_at"))["at"]) is not None:
            looks = max(1, -((self.now - due) // step))  # rounded up
            if self.now + looks * step > end:
                break
            self.now += looks * step
            claim_due(self.now)
        self.now = end

    def make(self, name: str = "report", **policies: Any) -> Routine:
        return service.create_routine(name, **({"task": NOTE} | policies))

    def found(self) -> list[str]:
        """What the audit finds, as texts without the routine's name."""
        return [each.what for each in service.audit(self.began - timedelta(days=1), now=self.now).imbalances]


@pytest.fixture
def hours(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Hours:
    hours = Hours()
    monkeypatch.setattr(clock, "now", lambda: hours.now)
    return hours


@pytest.fixture
def measured_clock(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that counts statements: the ledger's time has been asked for, and is not asked for again."""
    clock.now()
    monkeypatch.setattr(clock, "REFRESH_SECONDS", float("inf"))


@pytest.fixture
def make(db: None, time: Time) -> Callable[..., Routine]:
    """Create a routine of the `note` task."""

    def make(name: str = "report", **values: Any) -> Routine:
        return service.create_routine(name, **({"task": NOTE} | values))

    return make


@pytest.fixture
def ledger(transactional_db: None, redis_url: str) -> None:
    """A ledger with real commits, and an empty Redis: for what happens between transactions."""


@pytest.fixture
def short_lived_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The heart ends with its last run, so that no connection outlives a test."""
    monkeypatch.setattr(heart, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(renewal, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(watchdog, "IDLE_SECONDS", 0.0)
    yield
    wait_for(lambda: not any(t.name in OUR_THREADS for t in threading.enumerate()), 15, "a thread of ours lives on")


@pytest.fixture
def run_it() -> Execute:
    """Execute a PENDING run in this process, as a worker would; returns its row afterwards."""

    def run(row: RoutineRun, **options: Any) -> RoutineRun:
        execute(Delivery(run_id=row.id, hostname="test@here", **options))
        return RoutineRun.objects.get(id=row.id)

    return run


@pytest.fixture
def current() -> Iterator[Current]:
    """Make another app Celery's current one, as in a process that has not imported the project's."""
    ours = app_or_default()
    yield lambda app: app.set_current()
    ours.set_current()


class Code:
    """The project's code. `says` replaces all that it declares: the next deployment."""

    def says(self, **routines: dict[str, Any]) -> None:
        declaring._declared.clear()
        for name, fields in routines.items():
            declare(name, **({"task": NOTE} | fields))


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> Code:
    """A project whose code declares what a test says, and nothing else."""
    monkeypatch.setattr(declaring, "_declared", [])
    return Code()


@pytest.fixture
def login(db: None) -> Login:
    """A client for someone who may do everything, or only what is named."""

    def logged_in(*permissions: str, everything: bool = False, name: str = "ada") -> Client:
        user = User.objects.create_user(name, password="pw", is_staff=True, is_superuser=everything)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    return logged_in


@pytest.fixture
def operator(login: Login) -> Client:
    """Someone who may do everything."""
    return login(everything=True, name="root")


@pytest.fixture
def viewer(login: Login) -> Client:
    """Someone who may only look."""
    return login("view_routine", "view_routinerun", "view_pool", name="eve")
