"""Putting a batch of messages on the wire: one round trip where kombu has that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from celery import signals
from kombu import Producer

from routines_app.coordination.envelope import EXECUTE_TASK, NO_CALLBACKS, Message, header_template, headers
from routines_app.coordination.shown_arguments import patterns

MOST_AT_ONCE = 1000  # of one round trip: what is sent is held in memory


def send_batch(producer: Producer, batch: Sequence[tuple[Message, dict[str, Any], Mapping[str, Any] | None]]) -> None:
    """Send each message by its delivery, with headers beside Celery's own. An error leaves any part sent."""
    template, secret = header_template(), patterns()
    listened = bool(signals.before_task_publish.receivers or signals.after_task_publish.receivers)
    send = _send_with_signals if listened else _send
    with _buffered(producer, len(batch)):
        for message, delivery, others in batch:
            send(producer, message, headers(template, message, secret, others), delivery)


def _buffered(producer: Producer, size: int) -> AbstractContextManager[Any]:
    batch = getattr(producer, "batch", None)
    return nullcontext() if batch is None else batch(max_size=max(1, min(size, MOST_AT_ONCE)))


def _send_with_signals(producer: Producer, message: Message, sent: dict[str, Any], delivery: dict[str, Any]) -> None:
    """Tracing tools put their own headers in before, and close their spans after. They see the task that will run."""
    shown = {**sent, "task": message.task}
    facts = {"exchange": delivery["exchange"], "routing_key": delivery["routing_key"], "headers": shown}
    body = (*(message.arguments or ((), {})), NO_CALLBACKS)
    properties = {"correlation_id": message.run_id, "reply_to": "", "priority": delivery["priority"]}
    signals.before_task_publish.send(
        sender=message.task, body=body, properties=properties, declare=[], retry_policy={}, **facts
    )
    _send(producer, message, {**shown, "task": EXECUTE_TASK}, {**delivery, **properties})
    signals.after_task_publish.send(sender=message.task, body=body, **facts)


def _send(producer: Producer, message: Message, sent: dict[str, Any], delivery: dict[str, Any]) -> None:
    """`delivery` may have more properties: a receiver's."""
    producer.publish(
        message.body,
        headers=sent,
        content_type="application/json",
        content_encoding="utf-8",
        retry=False,
        **{"correlation_id": message.run_id, "reply_to": "", **delivery},
    )
