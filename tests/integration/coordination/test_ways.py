"""A run goes the way that `apply_async` would send its task: each form of router, of route and of task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import current_app
from kombu import Exchange, Queue

from routines_app import service
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import send
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.acceptance.stack import use_broker
from tests.integration.conftest import NOTE
from tests.integration.protocol.claim.test_claim import rewind

pytestmark = pytest.mark.django_db(transaction=True)

SEPARATOR = "\x06\x16"
VIDEO = Queue("video", Exchange("media", type="topic"), routing_key="video.#")
QUEUES = [Queue("celery", Exchange("celery"), routing_key="celery"), VIDEO, Queue("feeds", Exchange("feeds"), "feeds")]

Configure = Callable[..., None]


@pytest.fixture
def configure() -> Iterator[Configure]:
    """Sets what routes depend on, and takes it away again."""

    def use(*routers: Any, **conf: Any) -> None:
        defaults = {"task_queues": None, "task_default_priority": None, "task_create_missing_queues": True}
        current_app.conf.update(defaults | {"task_routes": list(routers) or None} | conf)
        for cached in ("router", "queues"):
            current_app.amqp.__dict__.pop(cached, None)
        current_app.amqp._rtable = None

    yield use
    use()


@pytest.fixture(autouse=True)
def _new_connections(redis_client: redis.Redis) -> None:
    """Redis is emptied before each test, and open connections believe that their queues are bound."""
    use_broker(current_app.conf.broker_url)


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task of which attributes may be set; Celery remembers them once it has sent one."""
    service.registered_tasks()  # imports them
    found: Any = current_app.tasks[NOTE]
    monkeypatch.setattr(found, "_exec_options", None)
    return found


class Seen:
    """Router functions that note what they were asked, and answer."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def answering(self, answer: Any) -> Callable[..., Any]:
        def router(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **more: Any) -> Any:
            self.asked.append((name, args, kwargs, dict(options), task, more))
            found = answer(task, args) if callable(answer) else answer
            return dict(found) if isinstance(found, dict) else found

        return router


class ByTask:
    """The class of routers that Celery had before 4.0."""

    def route_for_task(self, task: str, args: Any = None, kwargs: Any = None) -> Any:
        return {"queue": "feeds"} if task == NOTE else None


def declare_queues() -> None:
    """As workers do. Celery's own connection has to know the type of an exchange to which it sends without a queue."""
    with current_app.producer_or_acquire() as producer:
        for queue in QUEUES:
            queue(producer.channel).declare()


def waiting(client: redis.Redis) -> dict[str, list[dict[str, Any]]]:
    """Every message in the broker, by the key of its list."""
    keys = [key for key in client.scan_iter() if client.type(key) == "list"]
    return {key: [json.loads(raw) for raw in client.lrange(key, 0, -1)] for key in keys}


def message_of(client: redis.Redis, run_id: object) -> tuple[str, dict[str, Any]]:
    """The list that has the (newest) message of that id, and the message."""
    found = [
        (key, message)
        for key, messages in waiting(client).items()
        for message in messages
        if message["headers"]["id"] == str(run_id)
    ]
    assert found, "it is nowhere in the broker"
    return found[0]


def ways(client: redis.Redis, sent: Any, run: RoutineRun) -> list[tuple[object, ...]]:
    """Where both are, and how they were sent."""
    found = []
    for each in (sent.id, run.pk):
        key, message = message_of(client, each)
        properties = message["properties"]
        found.append((key, properties["delivery_info"], properties["priority"], properties["delivery_mode"]))
    return found


FORMS: dict[str, Any] = {
    "nothing": None,
    "a name": "feeds",
    "a dictionary with a queue": {"queue": "feeds"},
    "a queue with a routing key and a priority": {"queue": "video", "routing_key": "video.compress", "priority": 6},
    "a priority alone": {"queue": "celery", "priority": 3},
    "an exchange with a routing key": {"exchange": "media", "exchange_type": "topic", "routing_key": "video.cut"},
    "an exchange of its own and a queue": {"queue": "celery", "exchange": "feeds", "routing_key": "feeds"},
    "one that reads its task": lambda task, _: {"queue": "feeds" if task.name == NOTE else "video"},
    "one that reads the arguments": lambda _, args: {"queue": "feeds"} if args == ("a",) else None,
    "a delivery mode": {"queue": "feeds", "delivery_mode": 1},
    # Without a destination: the default queue's.
    "nothing but a priority": {"priority": 5},
    "nothing but a routing key": {"routing_key": "x"},
    "nothing but a delivery mode": {"delivery_mode": 1},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_router_function_routes_runs_as_it_routes_tasks(
    redis_client: redis.Redis, configure: Configure, task: Any, form: str
) -> None:
    """It is asked the same, and what it answers leads to the same place."""
    seen = Seen()
    configure(seen.answering(FORMS[form]), task_queues=QUEUES)
    service.create_routine("routed", task=NOTE, args=["a"], kwargs={"b": 1})
    declare_queues()

    sent = task.apply_async(("a",), {"b": 1})
    run = service.run_now("routed")

    first, second = ways(redis_client, sent, run)
    assert first == second
    assert seen.asked[0] == seen.asked[1]


ROUTES: dict[str, Any] = {
    "a map": {NOTE: "feeds"},
    "a map with options": {NOTE: {"queue": "feeds", "priority": 3}},
    "a pattern": {"tests.acceptance.*": {"queue": "video", "routing_key": "video.x"}},
    "a list of pairs": [("tests.acceptance.*", {"queue": "feeds"})],
    "a class of old": ByTask(),
    "a path": "tests.integration.coordination.test_ways.ByTask",
    "others": {"another.task": "video"},
    "a map with a priority alone": {NOTE: {"priority": 5}},
    "a map with a routing key alone": {NOTE: {"routing_key": "x"}},
    "a map with a delivery mode alone": {NOTE: {"delivery_mode": 1}},
}


@pytest.mark.parametrize("form", ROUTES)
def test_routes_of_every_form_route_runs(redis_client: redis.Redis, configure: Configure, task: Any, form: str) -> None:
    configure(ROUTES[form], task_queues=QUEUES)
    sent = task.apply_async()
    first, second = ways(redis_client, sent, service.run_now(service.create_routine("routed", task=NOTE)))
    assert first == second


@pytest.mark.parametrize(
    ("attributes", "conf", "priority", "key"),
    [
        pytest.param({}, {}, 0, "celery", id="nothing is configured"),
        pytest.param({"priority": 6}, {}, 6, f"celery{SEPARATOR}6", id="its own"),
        pytest.param({"priority": 6}, {"routed": 3}, 6, f"celery{SEPARATOR}6", id="its own before the route's"),
        pytest.param({}, {"routed": 3}, 3, f"celery{SEPARATOR}3", id="the route's"),
        pytest.param({"queue": "feeds"}, {"routed": 3}, 3, f"feeds{SEPARATOR}3", id="its own queue"),
        pytest.param({"exchange": "media", "routing_key": "video.a"}, {}, 0, "video", id="its own exchange"),
    ],
)
def test_medium_is_what_the_task_would_be_sent_with(
    redis_client: redis.Redis,
    configure: Configure,
    task: Any,
    monkeypatch: pytest.MonkeyPatch,
    attributes: dict[str, Any],
    conf: dict[str, Any],
    priority: int,
    key: str,
) -> None:
    """So it waits its turn like everybody else, and `LLEN` of the queue counts it as it counts tasks."""
    routes = [{NOTE: {"priority": conf["routed"], "queue": "celery"}}] if conf else []
    configure(*routes, task_queues=QUEUES)
    for name, value in attributes.items():
        monkeypatch.setattr(task, name, value, raising=False)
    routine = service.create_routine("medium", task=NOTE)
    declare_queues()

    first, second = ways(redis_client, task.apply_async(), service.run_now(routine))

    assert first == second
    assert (second[0], second[2]) == (key, priority)
    assert redis_client.llen(key) == 2


def test_high_and_low_stand_a_step_before_and_behind(
    redis_client: redis.Redis, task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the steps of the broker; a number in the options goes before the word."""
    monkeypatch.setattr(task, "priority", 4)
    found = {}
    for word, options in (("HIGH", None), ("MEDIUM", None), ("LOW", None), ("LOW", {"priority": 0})):
        name = f"{word} {options}"
        run = service.run_now(service.create_routine(name, task=NOTE, priority=word, options=options))
        found[name] = message_of(redis_client, run.pk)[0].removeprefix("celery").removeprefix(SEPARATOR)
    assert found == {"HIGH None": "", "MEDIUM None": "3", "LOW None": "6", "LOW {'priority': 0}": ""}


def test_an_exchange_that_leads_nowhere_concerns_its_own_routine(redis_client: redis.Redis) -> None:
    """Celery would drop the message without a word; the run says so, and waits."""
    lost = service.create_routine("lost", task=NOTE, every="10s", options={"exchange": "no", "routing_key": "where"})
    service.create_routine("good", task=NOTE, every="10s")
    for name in ("good", "lost"):
        rewind(name, seconds=10)
    assert send(claim_due(clock.now()).messages) is None
    good, bad = RoutineRun.objects.order_by("routine__name")
    assert good.dispatched_at is not None
    assert (bad.dispatched_at, bad.reason) == (None, "publish_failed")
    assert bad.error == "no queue is bound to exchange 'no' with routing key 'where'"

    service.update_routine(lost, options=None)
    assert send(dispatch_waiting(bad.publish_after)) is None
    assert message_of(redis_client, bad.pk)[0] == "celery"


def test_options_that_sql_has_written_concern_their_own_routine(redis_client: redis.Redis) -> None:
    """Whatever is there in the place of an object with known keys."""
    for number, wrong in enumerate((7, "text", [1], {"priority": "much"}, {"headers": [1]})):
        routine = service.create_routine(f"wrong {number}", task=NOTE, every="10s")
        Routine.objects.filter(pk=routine.pk).update(options=wrong)
    service.create_routine("good", task=NOTE, every="10s")
    for name in Routine.objects.values_list("name", flat=True):
        rewind(name, seconds=10)
    assert send(claim_due(clock.now()).messages) is None
    assert list(RoutineRun.objects.exclude(dispatched_at=None).values_list("routine__name", flat=True)) == ["good"]
    assert (
        RoutineRun.objects.filter(reason="publish_failed", error__startswith=f"the route of {NOTE} fails").count() == 5
    )
