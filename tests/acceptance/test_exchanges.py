"""Exchanges that only RabbitMQ knows: a run goes where one is bound, and says so where none is."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from kombu import Exchange, Queue

from routines_app import service
from routines_app.coordination.broker import broker
from routines_app.coordination.envelope import Message
from routines_app.models import RoutineRun
from tests.acceptance.app import app
from tests.acceptance.conftest import StackFactory
from tests.acceptance.ringing import NOTE

EMPTY = Exchange("empty", type="fanout", durable=True)
ELSEWHERE = Queue("elsewhere", Exchange("others", type="topic", durable=True), routing_key="reports.#")


@pytest.mark.rabbitmq
def test_what_an_exchange_leads_nowhere_concerns_only_its_own_runs(make_stack: StackFactory) -> None:
    """RabbitMQ would drop such messages without a word; here they come back, and the others are sent."""
    make_stack(broker="rabbitmq")
    with app.connection_for_write() as connection:
        EMPTY(connection.default_channel).declare()
        ELSEWHERE(connection.default_channel).declare()
        ways = {"missing": ("no-such", "x"), "empty": ("empty", "x"), "bound": ("others", "reports.daily")}
        for name, (exchange, key) in ways.items():
            service.create_routine(name, task=NOTE, options={"exchange": exchange, "routing_key": key})
            service.run_now(name)
        service.create_routine("plain", task=NOTE)
        service.run_now("plain")

        sent = RoutineRun.objects.exclude(dispatched_at=None).values_list("routine__name", flat=True)
        assert sorted(sent) == ["bound", "plain"]
        errors = dict(RoutineRun.objects.filter(reason="publish_failed").values_list("routine__name", "error"))
        assert errors.keys() == {"missing", "empty"}
        assert "no-such" in errors["missing"]
        assert "NO_ROUTE" in errors["empty"]
        assert ELSEWHERE(connection.default_channel).queue_declare(passive=True).message_count == 1


def message(options: dict[str, Any] | None = None) -> Message:
    return Message(str(uuid.uuid4()), "r", NOTE, "", "MEDIUM", None, 0, options=json.dumps(options) if options else "")


UNSENDABLE: dict[str, dict[str, Any]] = {
    "a long header": {"headers": {"é" * 200: 1}},
    "a long header further in": {"headers": {"a": [{"b": {"x" * 256: 1}}]}},
    "a long exchange": {"exchange": "é" * 200, "routing_key": "x"},
    "a long routing key": {"exchange": "others", "routing_key": "é" * 200},
    "no priority": {"priority": 300},
    "a number that only the client finds": {"headers": {"n": 2**70}},
}


@pytest.mark.rabbitmq
def test_what_cannot_be_written_down_stops_nobody_else(make_stack: StackFactory) -> None:
    """AMQP's client breaks on it in the middle of a batch."""
    make_stack(broker="rabbitmq")
    bad = [message(options) for options in UNSENDABLE.values()]
    for one in bad:
        refused = broker(app).publish([message(), one, message()])
        assert [each.message for each in refused] == [one]
        assert refused[0].why
    # Those before it may have been sent twice.
    refused = broker(app).publish([message(), *bad, message()])
    assert {each.message.run_id for each in refused} == {each.run_id for each in bad}
    assert broker(app).queue_sizes(["celery"])["celery"] >= 2 * (len(bad) + 1)
