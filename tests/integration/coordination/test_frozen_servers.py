"""A broker or a Redis that takes connections and answers nothing holds nobody's request up for more than a second."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from routines_app import service
from routines_app.beat.loop import BeatLoop
from routines_app.coordination import patience, redis_client
from routines_app.coordination.broker import broker
from routines_app.core.errors import NotAllowed
from routines_app.models import RoutineRun
from tests.acceptance.stack import celery_pointed_at
from tests.integration.conftest import NOTE
from tests.processes import stretched
from tests.servers import EmbeddedRedis

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedRedis]:
    """A Redis to freeze, and a process that waits as a web process does."""
    monkeypatch.setattr(patience, "_patience", patience.CALLER)
    server = EmbeddedRedis()
    server.start()
    yield server
    server.dispose()
    nobody_knows()  # or the tests that this process runs next would rest with it


def nobody_knows() -> None:
    """As if the last failure were long ago: the next who asks waits for an answer again."""
    redis_client._known_state = redis_client._State()
    broker()._quiet_until = 0.0


def seconds_of(act: Callable[[], object]) -> float:
    nobody_knows()
    began = time.monotonic()
    act()
    return time.monotonic() - began


WORK_SECONDS = 0.5  # what may be work; it takes a twentieth of that


def a_second() -> float:
    """As promised; time-outs are most of it, and what a busy machine makes longer is the rest."""
    return 1.0 + stretched(WORK_SECONDS) - WORK_SECONDS


def refused_lease(routine: str) -> None:
    with pytest.raises(NotAllowed, match="Redis cannot be reached"):
        service.release_lease(routine)


def running(routine: str) -> RoutineRun:
    run = service.run_now(routine)
    RoutineRun.objects.filter(pk=run.pk).update(status="RUNNING", started_at=timezone.now(), publish_after=None)
    return run


def test_every_verb_takes_a_second_at_most(server: EmbeddedRedis, settings: Any) -> None:
    """One server for messages and leases: the first verb finds its connections frozen, the others open new ones."""
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": server.url()}
    with celery_pointed_at(server.url()):
        nobody_knows()
        service.create_pool("two", max_concurrent=2)
        service.create_routine("report", task=NOTE, concurrency_policy="FORBID")
        service.create_routine("newest", task=NOTE, concurrency_policy="REPLACE")
        service.create_routine("pooled", task=NOTE, pool="two")
        replaced, cancelled = running("newest"), running("report")
        verbs: dict[str, Callable[[], object]] = {
            "run_now": lambda: service.run_now("pooled"),
            "run_now that replaces": lambda: service.run_now("newest"),
            "cancel_run": lambda: service.cancel_run(cancelled),
            "pause_routine": lambda: service.pause_routine("report"),
            "update_routine": lambda: service.update_routine("report", description="weekly"),
            "lease_of": lambda: service.lease_of("report"),
            "release_lease": lambda: refused_lease("report"),
            "archive_routine": lambda: service.archive_routine("report"),
        }
        server.freeze()
        took = {name: seconds_of(verb) for name, verb in verbs.items()}
    assert max(took.values()) <= a_second(), took
    replaced.refresh_from_db()
    assert replaced.stop_requested_at is not None, "what a verb wrote does not depend on who could be told"


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("role", ["broker", "leases"])
def test_run_now_leaves_its_run_in_the_outbox(server: EmbeddedRedis, settings: Any, role: str, connected: bool) -> None:
    """Only the broker is frozen, or only the Redis of leases; a beat finds what could not be sent."""
    if role == "leases":
        settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": server.url()}
    with celery_pointed_at(server.url() if role == "broker" else settings.REDIS_URL):
        nobody_knows()
        service.create_routine("report", task=NOTE)
        if connected:
            service.run_now("report")
        server.freeze()
        made: list[RoutineRun] = []
        took = seconds_of(lambda: made.append(service.run_now("report")))
    made[0].refresh_from_db()
    assert took <= a_second()
    sent = made[0].dispatched_at is not None
    assert sent == (role == "leases")
    assert made[0].publish_after is not None, "nobody would look at it"


def test_a_frozen_rabbitmq_takes_a_second_at_most(server: EmbeddedRedis) -> None:
    """It takes the connection, as the kernel does for a process that has stopped, and says nothing."""
    service.create_routine("report", task=NOTE)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        celery_pointed_at(f"amqp://guest:guest@127.0.0.1:{silent.getsockname()[1]}//"),
    ):
        took = seconds_of(lambda: service.run_now("report"))
    assert took <= a_second()
    assert RoutineRun.objects.get().dispatched_at is None


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long somebody waited at a socket and heard nothing, each time: on a busy machine a clock says no more how
    often that was."""
    waits: list[float] = []

    def noted(receive: Callable[..., Any]) -> Callable[..., Any]:
        def note(*arguments: Any) -> Any:
            began = time.monotonic()
            try:
                return receive(*arguments)
            except TimeoutError:
                waits.append(time.monotonic() - began)
                raise

        return note

    for name in ("recv", "recv_into"):
        monkeypatch.setattr(socket.socket, name, noted(getattr(socket.socket, name)))
    return waits


def test_a_look_of_a_beat_waits_once_for_each_server(
    server: EmbeddedRedis, settings: Any, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """It sends, takes turns, asks for leases and looks for lost messages: none of that waits for what just failed."""
    monkeypatch.setattr(patience, "_patience", patience.BEAT)
    monkeypatch.setattr(patience, "REST_TIMES", 100.0)  # the look ends before the rest does, however busy the machine
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": server.url()}
    with celery_pointed_at(server.url()):
        nobody_knows()
        service.create_routine("report", task=NOTE, concurrency_policy="FORBID")
        running("report")
        service.create_routine("other", task=NOTE)
        sent = service.run_now("other")
        long_ago = timezone.now() - timedelta(hours=1)
        RoutineRun.objects.filter(pk=sent.pk).update(dispatched_at=long_ago, publish_after=long_ago)
        server.freeze()
        waiting = service.run_now("other")
        RoutineRun.objects.filter(pk=waiting.pk).update(publish_after=long_ago)
        beat = BeatLoop(current_app)
        nobody_knows()
        waits.clear()
        beat._guarded_look()
        beat.close()
    assert len(waits) == 2, waits
