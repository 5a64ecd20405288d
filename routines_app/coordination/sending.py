"""Putting a batch of messages on the wire: one round trip where kombu has that."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from celery import signals
from kombu import Producer

from routines_app.coordination.envelope import EXECUTE_TASK, NO_CALLBACKS, Message, header_template, headers
from routines_app.core.words import Priority

MOST_AT_ONCE = 1000  # of one round trip: what is sent is held in memory

# On Redis 0 is the highest priority, on AMQP the lowest.
REDIS_PRIORITY = {Priority.HIGH: 0, Priority.MEDIUM: 3, Priority.LOW: 6}
AMQP_PRIORITY = {Priority.HIGH: 9, Priority.MEDIUM: 5, Priority.LOW: 1}


def send_batch(producer: Producer, batch: Sequence[tuple[Message, dict[str, Any]]]) -> None:
    """Send each message by its delivery (exchange, routing key, mode and priority). An error leaves any part sent."""
    template = header_template()
    listened = bool(signals.before_task_publish.receivers or signals.after_task_publish.receivers)
    send = _send_with_signals if listened else _send
    with _buffered(producer, len(batch)):
        for message, delivery in batch:
            send(producer, message, headers(template, message), delivery)


def _buffered(producer: Producer, size: int) -> AbstractContextManager[Any]:
    batch = getattr(producer, "batch", None)
    return nullcontext() if batch is None else batch(max_size=max(1, min(size, MOST_AT_ONCE)))


def _send_with_signals(producer: Producer, message: Message, sent: dict[str, Any], delivery: dict[str, Any]) -> None:
    """Tracing tools put their own headers in before, and close their spans after."""
    facts = {"exchange": delivery["exchange"], "routing_key": delivery["routing_key"], "headers": sent}
    body = ((message.run_id,), message.kwargs, NO_CALLBACKS)
    properties = {"correlation_id": message.run_id, "priority": delivery["priority"]}
    signals.before_task_publish.send(
        sender=EXECUTE_TASK, body=body, properties=properties, declare=[], retry_policy={}, **facts
    )
    _send(producer, message, sent, delivery)
    signals.after_task_publish.send(sender=EXECUTE_TASK, body=body, **facts)


def _send(producer: Producer, message: Message, sent: dict[str, Any], delivery: dict[str, Any]) -> None:
    producer.publish(
        message.body,
        headers=sent,
        content_type="application/json",
        content_encoding="utf-8",
        correlation_id=message.run_id,
        reply_to="",
        retry=False,
        **delivery,
    )
