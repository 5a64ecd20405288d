"""What must not be pushed to is not, whoever named it: a row that was written by SQL, or a router."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import current_app
from django.test import override_settings
from kombu import Exchange, Queue

from routines_app import service
from routines_app.coordination.leases import lease_key
from routines_app.coordination.routing import Routing, Unroutable
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import send
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def route_to() -> Iterator[Callable[[str], None]]:
    """Sets `task_routes`, and takes it away again."""

    def use(routes: dict[str, Any] | None) -> None:
        current_app.conf.task_routes = routes
        current_app.amqp.__dict__.pop("router", None)
        current_app.amqp._rtable = None

    yield lambda queue: use({TASK: {"queue": queue}})
    use(None)


def fire(*names: str) -> list[RoutineRun]:
    for name in names:
        rewind(name, seconds=10)
    assert send(claim_due(clock.now()).messages) is None
    return list(RoutineRun.objects.order_by("routine__name"))


@pytest.mark.parametrize("where", ["the row", "the route"])
@pytest.mark.parametrize("taken", ["victim's lease", "unacked", "_kombu.binding.celery", " celery"])
def test_a_queue_that_is_somebody_elses_key_gets_nothing(
    redis_client: redis.Redis, route_to: Callable[[str], None], where: str, taken: str
) -> None:
    """Its runs wait with the reason on them; those of other routines are sent."""
    victim = service.create_routine("victim", task=TASK, concurrency_policy="FORBID")
    queue = lease_key(victim.pk) if taken == "victim's lease" else taken
    service.create_routine("bad", task=TASK, every="10s", priority="HIGH")
    service.create_routine("good", task=TASK, every="10s", queue="mails")
    route_to(queue) if where == "the route" else Routine.objects.filter(name="bad").update(queue=queue)

    bad, good = fire("bad", "good")

    assert (bad.dispatched_at, bad.reason) == (None, "publish_failed")
    assert f"queue {queue!r}" in bad.error
    assert "is not accepted: give a name" in bad.error
    assert good.dispatched_at is not None
    assert redis_client.llen("mails") == 1
    assert not redis_client.exists(queue)
    assert queue not in current_app.amqp.queues or where == "the route", "Celery knows it as a queue now"


def test_a_run_by_hand_says_why_it_waits(redis_client: redis.Redis) -> None:
    """As the run of a slot does: the routine was written by SQL."""
    routine = service.create_routine("bad", task=TASK, priority="HIGH")
    Routine.objects.update(queue="unacked")
    run = service.run_now(routine.pk)
    run.refresh_from_db()
    assert (run.status, run.reason) == ("PENDING", "publish_failed")
    assert "'unacked'" in run.error
    assert not redis_client.exists("unacked")


def test_a_queue_that_the_project_does_not_name_any_more_gets_nothing(redis_client: redis.Redis) -> None:
    """It did when the routine was written. What the project's own routes say is not asked of that list."""
    service.create_routine("bad", task=TASK, every="10s", priority="HIGH", queue="reports")
    service.create_routine("routed", task=TASK, every="10s", priority="HIGH")
    with override_settings(ROUTINES={"QUEUES": ["mails"]}):
        bad, routed = fire("bad", "routed")
    assert "ROUTINES['QUEUES'] (mails)" in bad.error
    assert routed.dispatched_at is not None
    assert (redis_client.exists("reports"), redis_client.llen("celery")) == (0, 1)


@pytest.fixture
def _queues() -> Iterator[None]:
    """Queues of the app, with bindings of their own."""
    every = Exchange("every", type="fanout")
    queues = [Queue("celery"), Queue("payments", Exchange("pay"), "pay"), Queue("mails", every), Queue("audit", every)]
    queues += [Queue("unacked_pay", Exchange("odd"), "odd"), Queue("letters", Exchange("post"), "post")]

    def use(task_queues: list[Queue] | None) -> None:
        current_app.conf.task_queues = task_queues
        for cached in ("router", "queues"):
            current_app.amqp.__dict__.pop(cached, None)
        current_app.amqp._rtable = None

    use(queues)
    yield
    use(None)


WAYS: list[tuple[dict[str, Any], str]] = [
    ({"exchange": "pay", "routing_key": "pay"}, "queue 'payments', where its exchange leads, is not accepted"),
    ({"exchange": "every", "routing_key": "x"}, "queue 'audit', where its exchange leads, is not accepted"),
    ({"exchange": "nowhere", "routing_key": "x"}, "only the broker knows its queues"),
    ({"exchange": "amq.topic", "routing_key": "x"}, "exchange 'amq.topic' is not accepted"),
    ({"exchange": "celeryev", "routing_key": "x"}, "exchange 'celeryev' is not accepted"),
    ({"exchange": "celery.pidbox"}, "exchange 'celery.pidbox' is not accepted"),
    ({"headers": {"BCC": ["payments"]}}, "header BCC is not accepted"),
    ({"exchange": "post", "routing_key": "post"}, ""),
    ({"routing_key": "pay"}, ""),  # a direct queue is sent to by its name
]


@pytest.mark.usefixtures("_queues")
@pytest.mark.parametrize(("options", "told"), WAYS)
def test_an_exchange_is_no_way_around_the_queues_that_may_be_named(options: dict[str, Any], told: str) -> None:
    """The row may have been written by SQL."""
    with override_settings(ROUTINES={"QUEUES": ["mails", "letters"]}):
        found = Routing(current_app).find(TASK, "", options=json.dumps(options))
    assert told in found.why if isinstance(found, Unroutable) else not told


@pytest.mark.usefixtures("_queues")
def test_an_exchange_is_no_way_to_a_name_that_is_taken() -> None:
    found = Routing(current_app).find(TASK, "", options=json.dumps({"exchange": "odd", "routing_key": "odd"}))
    assert isinstance(found, Unroutable)
    assert "queue 'unacked_pay'" in found.why
