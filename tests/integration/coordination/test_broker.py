"""The broker's side of a publish: what has no way to go holds nothing else up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import amqp
import pytest
import redis
from celery import Celery, current_app
from kombu import Connection

from routines_app import service
from routines_app.coordination import deliveries
from routines_app.coordination.broker import Broker, BrokerAway, broker
from routines_app.coordination.envelope import Message
from routines_app.models import RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import publish, send
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.messages import messages_of
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _only_known_queues():
    """No queue is made up: `celery` is the only one that there is."""
    current_app.conf.task_create_missing_queues = False
    current_app.amqp.__dict__.pop("queues", None)
    current_app.amqp.__dict__.pop("router", None)
    yield
    current_app.conf.task_create_missing_queues = True
    current_app.amqp.__dict__.pop("queues", None)
    current_app.amqp.__dict__.pop("router", None)


@pytest.mark.usefixtures("_only_known_queues")
def test_a_queue_that_does_not_exist_stops_only_its_own_runs():
    """The others are published; the run says why it waits."""
    service.create_routine("good", task=TASK, every="10s")
    service.create_routine("lost", task=TASK, every="10s", queue="no-such-queue")
    rewind("good", seconds=10)
    rewind("lost", seconds=10)

    assert send(claim_due(clock.now()).messages) is None

    good, lost = RoutineRun.objects.order_by("routine__name")
    assert good.dispatched_at is not None
    assert (lost.dispatched_at, lost.reason) == (None, "publish_failed")
    assert lost.publish_after > clock.now()


@pytest.fixture
def route() -> Iterator[Callable[..., None]]:
    """Sets `task_routes`, and takes it away again."""

    def use(*routers: Any) -> None:
        current_app.conf.task_routes = list(routers) or None
        current_app.amqp.__dict__.pop("router", None)
        current_app.amqp._rtable = None

    yield use
    use()


def test_ways_are_not_remembered_without_end(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A router may make up a queue for each run."""
    monkeypatch.setattr(deliveries, "MOST_KNOWN", 2)
    broker().close()
    assert (
        broker().publish([Message(f"r{n}", "report", TASK, f"made-up-{n}", "MEDIUM", None, 0) for n in range(5)]) == []
    )
    assert 1 <= len(broker()._deliveries._known) <= 2
    assert [redis_client.llen(f"made-up-{n}") for n in range(5)] == [1] * 5


FAIL = "tests.acceptance.tasks.fail"


def of_fail(act: Callable[[Any, Any, Any, Any], Any]) -> Callable[..., Any]:
    """A router that does something odd with one task, and knows nothing of the others."""

    def router(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **_: Any) -> Any:
        return act(args, kwargs, options, task) if name == FAIL else None

    return router


def raises(error: Exception) -> Callable[..., Any]:
    def act(*_: Any) -> Any:
        raise error

    return act


HOSTILE = {
    "names an exchange without a queue": (lambda *_: {"exchange": "events", "routing_key": "x"}, "no queue"),
    "returns what is no route": (lambda *_: 7, "the route of"),
    "raises": (raises(ValueError("not my task")), "ValueError: not my task"),
    "raises what a broker raises": (raises(ConnectionError("the router's own database")), "the router's own database"),
    "raises what kombu takes for an outage": (raises(KeyError("tenant")), "KeyError: 'tenant'"),
    "raises what cannot be printed": (raises(type("Mute", (Exception,), {"__str__": lambda _: 1 / 0})()), "Mute"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_router_stops_only_the_runs_it_was_asked_about(what: str, route: Callable[..., None]):
    """The others go out, the broker is not away, and the run says what the router did; once mended it goes."""
    act, told = HOSTILE[what]
    route(of_fail(act))
    for name, task in (("good", TASK), ("hostile", FAIL)):
        service.create_routine(name, task=task, every="10s")
        rewind(name, seconds=10)

    assert send(claim_due(clock.now()).messages) is None

    good, hostile = RoutineRun.objects.order_by("routine__name")
    assert good.dispatched_at is not None
    assert (hostile.dispatched_at, hostile.admitted_at, hostile.reason) == (None, None, "publish_failed")
    assert told in hostile.error
    route()
    assert send(dispatch_waiting(hostile.publish_after)) is None
    hostile.refresh_from_db()
    assert (hostile.dispatched_at is not None, hostile.reason, hostile.error) == (True, "", "")


def test_a_hostile_router_is_not_the_fault_of_who_asks_for_a_run(route: Callable[..., None]):
    """`run_now` returns the run; the run says why it waits, in a pool as well."""
    route(of_fail(raises(RuntimeError("not today"))))
    service.create_pool("narrow", max_concurrent=1)
    service.create_routine("hostile", task=FAIL)
    service.create_routine("pooled", task=FAIL, pool="narrow")

    for name in ("hostile", "pooled"):
        run = service.run_now(name)
        run.refresh_from_db()
        assert (run.status, run.reason, "not today" in run.error) == ("PENDING", "publish_failed", True)


def test_a_router_that_quotes_secrets_is_told_without_them(
    route: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """In the log, and on the run."""

    def quote(args: Any, kwargs: Any, *_: Any) -> Any:
        raise ValueError(f"no tenant in {kwargs}")

    route(of_fail(quote))
    service.create_routine("hostile", task=FAIL, kwargs={"token": "hunter2"})
    service.run_now("hostile")
    told = RoutineRun.objects.get().error + caplog.text
    assert "no tenant in {'token': " in told
    assert "hunter2" not in told


def test_a_router_that_cannot_be_imported_is_told_to_each_run(route: Callable[..., None]):
    """As a mistyped setting is: nobody takes that for an outage."""
    route("no.such.module.router")
    service.create_routine("good", task=TASK, every="10s")
    rewind("good", seconds=10)

    assert send(claim_due(clock.now()).messages) is None

    assert "no.such" in RoutineRun.objects.get().error or "No module" in RoutineRun.objects.get().error


def test_a_router_gets_what_celery_would_give_it(route: Callable[..., None]):
    """The task itself, and the arguments of this very run: its own, or its routine's."""
    seen: list[Any] = []
    route(of_fail(lambda args, kwargs, options, task: seen.append((args, kwargs, options["queue"], task.name))))
    service.create_routine("told", task=FAIL, args=["from the routine"], kwargs={"a": 1}, queue="slow")
    service.run_now("told")
    service.run_now("told", args=["its own"])

    assert seen == [
        (("from the routine",), {"a": 1}, current_app.amqp.queues["slow"], FAIL),
        (("its own",), {"a": 1}, current_app.amqp.queues["slow"], FAIL),
    ]


def test_arguments_may_choose_the_queue(route: Callable[..., None]):
    """Runs of one routine go different ways."""
    route(of_fail(lambda args, *_: {"queue": f"tenant-{args[0]}"}))
    service.create_routine("tenants", task=FAIL)
    runs = [service.run_now("tenants", args=[tenant]) for tenant in ("a", "b")]

    assert publish(messages_of(RoutineRun.objects.filter(id__in=[run.pk for run in runs]))) == []
    assert broker().queue_sizes(["tenant-a", "tenant-b"]) == {"tenant-a": 2, "tenant-b": 2}


def test_a_task_may_name_its_queue(monkeypatch: pytest.MonkeyPatch):
    """As `@shared_task(queue=…)` does for `apply_async`; the routine's own queue goes before it."""
    monkeypatch.setattr(current_app.tasks[FAIL], "queue", "of-the-task", raising=False)
    assert broker().queue_of(FAIL, "") == "of-the-task"
    assert broker().queue_of(FAIL, "of-the-routine") == "of-the-routine"
    assert broker().queue_of(TASK, "") == "celery"


class FakeChannel:
    """A channel on which the broker answers to every question with one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def queue_declare(self, **_: Any) -> Any:
        raise self.error

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "sizes"),
    [
        (amqp.NotFound("no queue 'q'", reply_code=404), {"q": 0}),
        (amqp.ChannelError("NOT_FOUND - no queue", (50, 10), "Channel.queue_declare", "404"), {"q": 0}),
        (redis.exceptions.NoPermissionError("NOPERM No permissions to access a key"), {}),
        (redis.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"), {}),
    ],
)
def test_only_a_queue_that_does_not_exist_is_empty(
    error: Exception, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
):
    """What the broker only does not tell us is not known: whoever took it for empty would publish for ever."""
    monkeypatch.setattr(broker(), "_own_channel", lambda: FakeChannel(error))
    assert broker().queue_sizes(["q"]) == sizes


def test_a_broker_that_answers_nobody_is_away(monkeypatch: pytest.MonkeyPatch):
    """Out of memory, say: that is about no queue."""
    ours = Broker(current_app)
    monkeypatch.setattr(ours, "_own_channel", lambda: FakeChannel(redis.ResponseError("LOADING it is")))
    with pytest.raises(BrokerAway):
        ours.queue_sizes(["q"])
    ours.close()


def test_a_queue_that_amqp_refuses_is_not_known(monkeypatch: pytest.MonkeyPatch):
    """A user who may publish there, and may not look."""
    over_amqp = Broker(Celery("elsewhere", broker="memory://", set_as_current=False))
    refused = amqp.AccessRefused("ACCESS_REFUSED - access to queue 'q' refused", reply_code=403)
    monkeypatch.setattr(over_amqp, "_own_channel", lambda: FakeChannel(refused))
    assert over_amqp.queue_sizes(["q"]) == {}
    over_amqp.close()


def test_a_queue_that_is_something_else_in_redis_stops_only_its_own_runs():
    """Somebody else's key has that name: what goes to other queues is sent."""
    for name, queue in (("good", ""), ("odd", "taken")):
        service.create_routine(name, task=TASK, queue=queue, every="10s")
        rewind(name, seconds=10)
    messages = claim_due(clock.now()).messages
    connection: Connection = current_app.connection_for_write()
    with connection as opened:
        client: Any = opened.default_channel.client  # type: ignore[attr-defined]
        for step in ("", "\x06\x163", "\x06\x166", "\x06\x169"):
            client.set(f"taken{step}", "no list")
        try:
            assert send(messages) is None
        finally:
            client.delete(*(f"taken{step}" for step in ("", "\x06\x163", "\x06\x166", "\x06\x169")))

    good, odd = RoutineRun.objects.order_by("routine__name")
    assert good.dispatched_at is not None
    assert (odd.dispatched_at, odd.reason) == (None, "publish_failed")
    assert "WRONGTYPE" in odd.error
