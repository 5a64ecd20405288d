"""Fault 50: the broker's address has another form (TLS, Sentinels): leases go to the same server, or it is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from routines_app import service
from routines_app.coordination.leases import lease_key
from routines_app.models import Node, RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault, ready_beats
from tests.acceptance.stack import Stack
from tests.servers import EmbeddedSentinel, TlsDoor

OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2}


@pytest.fixture
def door() -> Iterator[TlsDoor]:
    door = TlsDoor()
    yield door
    door.dispose()


@pytest.fixture
def sentinel() -> Iterator[EmbeddedSentinel]:
    sentinel = EmbeddedSentinel()
    yield sentinel
    sentinel.dispose()


def stack_at(make_stack: StackFactory, broker: str, redis_url: str = "", **options: Any) -> Stack:
    """Its processes know only that address; the test process goes to the same Redis directly."""
    settings = {"CELERY_BROKER_URL": broker, "CELERY_BROKER_TRANSPORT_OPTIONS": OPTIONS | options}
    return make_stack(settings=settings | {"ROUTINES": {"REDIS_URL": redis_url, "NODE_SECONDS": 1}})


def exclusive_work_is_done(stack: Stack) -> None:
    """ALLOW and FORBID alike, with the lease where the broker is, and nobody calls Redis away."""
    stack.worker()
    stack.beat()
    service.create_routine("shared", task=NOTE, every="1s")
    alone = service.create_routine("alone", task=SLEEPY, kwargs={"seconds": 1}, every="1s", concurrency_policy="FORBID")
    done = RoutineRun.objects.filter(status="SUCCESS")
    stack.wait_until(lambda: stack.redis.client().exists(lease_key(alone.pk)), 30, "no lease where the broker is")
    for name in ("shared", "alone"):
        stack.wait_until(lambda name=name: done.filter(routine__name=name).count() > 1, 30, f"{name} does not run")
    assert "Redis is away" not in stack.logs()


def test_fault_50_tls_without_certificates(make_stack: StackFactory, door: TlsDoor, fault: Fault) -> None:
    """`ssl_cert_reqs=CERT_NONE` is Celery's word, which redis-py does not know."""
    stack = stack_at(make_stack, f"rediss://127.0.0.1:{door.port}/0?ssl_cert_reqs=CERT_NONE")
    door.open(stack.redis.port)
    exclusive_work_is_done(stack)
    fault.balances(stack)


def test_fault_50_sentinels(make_stack: StackFactory, sentinel: EmbeddedSentinel, fault: Fault) -> None:
    """No REDIS_URL: it is the master that the broker's Sentinels know, not a server at the usual port."""
    stack = stack_at(make_stack, sentinel.url(), master_name=sentinel.master)
    sentinel.watch(stack.redis.port)
    exclusive_work_is_done(stack)
    fault.balances(stack)


def test_fault_50_a_certificate_that_only_our_client_refuses_is_said(
    make_stack: StackFactory, door: TlsDoor, fault: Fault
) -> None:
    """Exclusive work waits and says why, all other work goes on; log, node and row name the reason, the log once."""
    stack = make_stack(settings={"ROUTINES": {"REDIS_URL": f"rediss://127.0.0.1:{door.port}/0", "NODE_SECONDS": 1}})
    door.open(stack.redis.port)
    worker, beat = stack.worker(concurrency=1), stack.beat()
    ready_beats(stack, 1)
    service.create_routine("shared", task=NOTE, every="1s")
    service.create_routine("alone", task=NOTE, every="1s", concurrency_policy="FORBID")
    done = RoutineRun.objects.filter(status="SUCCESS", routine__name="shared")
    waits = RoutineRun.objects.filter(status="PENDING", routine__name="alone", reason="redis_away")
    stack.wait_until(lambda: waits.exists() and done.count() > 2, 30, "exclusive work does not wait, or all waits")
    for process, role in ((worker, "worker"), (beat, "beat")):
        node = stack.wait_until(
            lambda role=role: next((n for n in Node.objects.filter(role=role) if n.problems), None),
            30,
            "no node says so",
        )
        assert "CERTIFICATE_VERIFY_FAILED" in node.problems[0]
        # The worker's child finds it by itself, too.
        assert 1 <= process.log().count("Redis is away: ") <= len(process.children()) + 1
    assert not stack.bodies("alone")
