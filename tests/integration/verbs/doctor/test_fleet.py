"""The doctor about beats, workers and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import current_app

from routines_app import service
from routines_app.models import Node, Routine
from routines_app.protocol.upkeep.nodes import NodeReport, report_beat, versions
from routines_app.verbs.doctor import fleet
from routines_app.verbs.doctor.answers import Answer
from tests.acceptance.stack import celery_pointed_at
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.doctor.asking import answer, configured
from tests.integration.verbs.health.nodes import seen
from tests.integration.verbs.rows import waiting_run
from tests.servers import RABBITMQ_PORT

Make = Callable[..., Routine]
VERSIONS = versions()


@pytest.mark.parametrize("role", ["beat", "worker"])
def test_nobody_is_there(db: None, time: Time, role: str) -> None:
    """One that was, three minutes ago, is gone."""
    seen(f"{role}@a:1", time, seconds=181)
    level, found, advice = answer(f"{role}s")
    assert (level, found) == ("error", f"no {role} has reported itself lately")
    assert advice.startswith(f"start one: celery -A project {role}")


@pytest.mark.parametrize("role", ["beat", "worker"])
def test_somebody_is_there(db: None, time: Time, role: str) -> None:
    for number in range(5):
        seen(f"{role}@a:{number}", time)
    assert answer(f"{role}s") == (
        "ok",
        f"5 {role}s: {role}@a:0, {role}@a:1, {role}@a:2 and 2 more",
        "",
    )


def test_what_a_node_cannot_reach_is_told(db: None, time: Time) -> None:
    seen("beat@a:1", time, versions={"problems": ["Redis is away: no route"]})
    level, found, _ = answer("beats")
    assert (level, found) == ("error", "beat@a:1: Redis is away: no route")
    seen("beat@b:2", time)
    assert answer("beats")[:2] == ("warning", "beat@a:1: Redis is away: no route"), "the other one can"


def test_workers_that_take_no_more_work(db: None, time: Time) -> None:
    seen("worker@a:1", time, draining=True)
    assert answer("workers").level == "error"
    seen("worker@a:2", time)
    assert answer("workers").level == "ok"


def test_versions_side_by_side(db: None, time: Time) -> None:
    """One that a node does not report is not compared."""
    seen("beat@a:1", time, versions=VERSIONS)
    seen("worker@a:2", time, versions={"python": VERSIONS["python"]})
    level, found, _ = answer("versions")
    assert level == "ok"
    for name in ("python", "django-celery-routines", "celery", "django", "redis"):
        assert f"{name} {VERSIONS[name]}" in found


def test_a_node_that_runs_another_version(db: None, time: Time) -> None:
    seen("beat@a:1", time, versions=VERSIONS)
    seen("worker@a:2", time, versions=VERSIONS | {"celery": "5.0.1"})
    level, found, advice = answer("versions")
    assert level == "warning"
    assert found.startswith(f"celery 5.0.1 on worker@a:2; here: python {VERSIONS['python']}, ")
    assert advice


def test_nodes_report_what_is_compared(ledger: None) -> None:
    """Versions, the driver's too, and how far off their clock is."""
    report_beat("project")
    node = Node.objects.get(name=NodeReport(role="beat").name)
    assert VERSIONS.items() <= node.versions.items()
    assert node.clock_ahead_seconds is not None


def test_a_queue_that_runs_wait_for_and_nobody_consumes(make: Make, time: Time) -> None:
    routine = make(queue="reports")
    seen("worker@a:1", time, queues=["celery"])
    waiting_run(routine, 1, queue="reports", dispatched_at=MONDAY)
    waiting_run(routine, 2, queue="reports", dispatched_at=MONDAY)
    assert answer("queues") == (
        "error",
        "no worker consumes 'reports' (2 runs waiting)",
        "start a worker with -Q and that name",
    )
    seen("worker@a:2", time, queues=["reports"])
    assert answer("queues") == ("ok", "each of 1 queue has a worker", "")


def test_a_queue_that_only_routines_name(make: Make, time: Time) -> None:
    """Nothing waits for it yet; a worker that ends does not count, nor a routine that does not fire."""
    make(queue="reports")
    make("second")
    service.archive_routine(make("third", queue="old"))
    seen("worker@a:1", time, queues=["celery"])
    seen("worker@a:2", time, queues=["reports"], draining=True)
    level, found, _ = answer("queues")
    assert (level, found) == ("warning", "no worker consumes 'reports' (1 routine)")


def test_no_queue_is_used(db: None, time: Time) -> None:
    assert answer("queues") == Answer("ok", "none is used")
    with configured(task_always_eager=True):
        assert answer("queues") == Answer("ok", "task_always_eager: none is used")


def test_the_queue_of_a_route_is_meant(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its runs really go."""
    make()
    monkeypatch.setattr(fleet, "broker", lambda: type("B", (), {"queue_of": lambda *_: "routed"})())
    seen("worker@a:1", time, queues=["celery"])
    assert answer("queues").found == "no worker consumes 'routed' (1 routine)"


@pytest.mark.rabbitmq
def test_rabbitmq_knows_of_workers_that_report_nowhere(make: Make, time: Time) -> None:
    make(queue="doctor-of-strangers")
    with celery_pointed_at(f"amqp://guest:guest@127.0.0.1:{RABBITMQ_PORT}//"):
        assert answer("queues").level == "warning", "it does not exist"
        with current_app.connection_for_write() as connection:
            channel: Any = connection.channel()
            channel.queue_declare("doctor-of-strangers", auto_delete=True)
            assert answer("queues").level == "warning", "nobody consumes it"
            channel.basic_consume("doctor-of-strangers", callback=lambda _: None)
            assert answer("queues").level == "ok"


def test_a_broker_that_is_away_hides_no_queue(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> None:
        raise fleet.BrokerAway

    monkeypatch.setattr(fleet, "ask_broker", away)
    make(queue="reports", task=NOTE)
    assert answer("queues").level == "warning"
