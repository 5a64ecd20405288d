"""A run waits its turn in a busy queue like everybody else, on both brokers, and autoscalers see it there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.app import app
from tests.acceptance.conftest import StackFactory
from tests.acceptance.ringing import NOTE
from tests.acceptance.stack import Stack

BUSY = 150  # ordinary tasks before the runs, and as many after them
HEADERS = {"tenant": "a"}
# On Redis HIGH is MEDIUM where nothing is configured, on RabbitMQ LOW is: nothing is before 0 there, nor below it here.
PLACES = {
    "redis": {"HIGH": BUSY, "MEDIUM": BUSY + 1, "LOW": 2 * BUSY + 2},
    "rabbitmq": {"HIGH": 0, "MEDIUM": BUSY + 1, "LOW": BUSY + 2},
}


@pytest.fixture
def _priorities() -> Iterator[None]:
    """RabbitMQ has them where the project asks for them; the app of this process is there already."""

    def use(most: int | None) -> None:
        app.conf.task_queue_max_priority = most
        for cached in ("router", "queues"):
            app.amqp.__dict__.pop(cached, None)

    use(10)
    yield
    use(None)


@pytest.mark.usefixtures("_priorities")
@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def test_a_run_waits_its_turn_in_a_busy_queue(make_stack: StackFactory, broker: str) -> None:
    """Behind the tasks that were sent before it and before those that were sent after it."""
    stack = make_stack(broker=broker, settings={"CELERY_TASK_QUEUE_MAX_PRIORITY": 10})
    words = list(PLACES[broker])
    for word in words:
        service.create_routine(word, task=NOTE, args=[word], priority=word, options={"headers": HEADERS})

    send_ordinary_tasks()
    for word in words:
        service.run_now(word)
    send_ordinary_tasks()

    if broker == "redis":
        behind = 1  # LOW has a list of its own
        assert stack.redis.client().llen("celery") == 2 * BUSY + len(words) - behind
    stack.worker(pool="solo")
    order = stack.wait_until(lambda: all_started(stack), 60, "not all of them ran")
    assert {word: order.index(word) for word in words} == PLACES[broker]
    done = RoutineRun.objects.filter(status="SUCCESS")
    stack.wait_until(lambda: done.count() == len(words), 10, "the runs did not succeed")


def send_ordinary_tasks() -> None:
    with app.connection_for_write() as connection:
        for _ in range(BUSY):
            app.send_task(NOTE, args=["ordinary"], connection=connection, ignore_result=True)


def all_started(stack: Stack) -> list[Any]:
    """What the bodies were called with, in the order of their starts, once all have started."""
    started = [line["args"][0] for line in stack.body_lines() if line["event"] == "start"]
    return started if len(started) == 2 * BUSY + 3 else []
