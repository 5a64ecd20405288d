"""The broker: runs are rung in as messages. The row is the work; a message says which row, and nothing that is trusted.

Messages go out in batches over a connection of our own with bounded time-outs, because Celery's shared producer
retries for minutes when the broker is away. A publish that failed is unknown, not undone: the row is the work,
so publishing twice is harmless.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from celery import Celery, signals
from celery.app import app_or_default
from celery.exceptions import QueueNotFound
from kombu import Connection, Producer
from kombu.exceptions import KombuError

from routines_app.coordination.envelope import EXECUTE_TASK, NO_CALLBACKS, Message, header_template, headers
from routines_app.core.words import Priority

logger = logging.getLogger(__name__)

SOCKET_SECONDS = 2.0  # a frozen broker may hold a tick up this long, and not longer
QUIET_SECONDS = 0.5  # after a failure others fail at once for this long, instead of each waiting for its own time-out

# On Redis 0 is the highest priority, on AMQP the lowest.
_REDIS_PRIORITY = {Priority.HIGH: 0, Priority.MEDIUM: 3, Priority.LOW: 6}
_AMQP_PRIORITY = {Priority.HIGH: 9, Priority.MEDIUM: 5, Priority.LOW: 1}


class BrokerAway(Exception):
    """The broker could not be reached or did not answer in time; what was sent is unknown."""


class Broker:
    """This process's connection to the broker. Safe to share between threads."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._producer: Producer | None = None
        self._routes: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._quiet_until = 0.0

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        """Send them, or raise `BrokerAway`; then any part may have been sent.

        Returns those that have no way to go: their queue does not exist, or cannot be declared as it is configured.
        """
        if not messages:
            return []
        with self._connected():
            routed, unroutable = self._routed(messages)
            if routed:
                self._publish_batch(self._ready_producer(), routed)
            return unroutable

    def connect(self) -> None:
        """Connect now rather than with the first message, or raise `BrokerAway`."""
        with self._connected():
            self._ready_producer()

    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        """How many messages wait in each queue. A queue that does not exist holds none."""
        with self._connected():
            self._ready_producer()
            return {queue: self._queue_size(queue) for queue in queues}

    def queue_of(self, task: str, queue: str) -> str:
        """The queue that a run goes to: its own, else what `task_routes` says for its task."""
        try:
            return str(self._route(task, queue)["name"])
        except QueueNotFound:
            return queue

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def forget_lock(self) -> None:
        """In a forked child: the thread that held the lock, if there was one, does not exist there."""
        self._lock = threading.Lock()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """One thread at a time; while the broker is known to be away nobody queues up to find that out again."""
        if self._is_quiet or not self._lock.acquire(timeout=SOCKET_SECONDS):
            raise BrokerAway("it was away a moment ago")
        try:
            if self._is_quiet:
                raise BrokerAway("it was away a moment ago")
            yield
        except self._errors() as error:
            self._disconnect()
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            raise BrokerAway(str(error) or type(error).__name__) from error
        finally:
            self._lock.release()

    @property
    def _is_quiet(self) -> bool:
        return time.monotonic() < self._quiet_until

    def _routed(self, messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
        """Those that have a way to go, and those that have not: one wrong queue must not stop the others."""
        kinds = {message.kind: message for message in messages}
        closed = {kind for kind, message in kinds.items() if not self._has_way(message)}
        if not closed:
            return list(messages), []
        return [m for m in messages if m.kind not in closed], [m for m in messages if m.kind in closed]

    def _has_way(self, message: Message) -> bool:
        self._ready_producer()
        assert self._connection is not None
        channel_errors = self._connection.channel_errors
        try:
            self._delivery(message)
        except QueueNotFound as error:
            logger.error("routine %s cannot be published: %s", message.routine, error)
            return False
        except channel_errors as error:  # the queue exists with other arguments; AMQP has closed the channel
            logger.error("routine %s cannot be published: %s", message.routine, error)
            self._disconnect()
            return False
        return True

    def _publish_batch(self, producer: Producer, messages: Sequence[Message]) -> None:
        template = header_template()
        listened = bool(signals.before_task_publish.receivers or signals.after_task_publish.receivers)
        send = self._send_with_signals if listened else _send
        with _batch(producer, len(messages)):
            for message in messages:
                send(producer, message, headers(template, message), self._delivery(message))
        if not self._is_redis:
            # AMQP answers in order: once this is answered, every message before it has been taken. One round
            # trip per batch, where a confirm per message would make one for each.
            channel: Any = producer.channel
            channel.queue_declare(queue=self.queue_of(messages[-1].task, messages[-1].queue), passive=True)

    def _send_with_signals(
        self, producer: Producer, message: Message, sent: dict[str, Any], delivery: dict[str, Any]
    ) -> None:
        """Tracing tools put their own headers in before, and close their spans after."""
        facts = {"exchange": delivery["exchange"], "routing_key": delivery["routing_key"], "headers": sent}
        body = ((message.run_id,), message.kwargs, NO_CALLBACKS)
        properties = {"correlation_id": message.run_id, "priority": delivery["priority"]}
        signals.before_task_publish.send(
            sender=EXECUTE_TASK, body=body, properties=properties, declare=[], retry_policy={}, **facts
        )
        _send(producer, message, sent, delivery)
        signals.after_task_publish.send(sender=EXECUTE_TASK, body=body, **facts)

    def _delivery(self, message: Message) -> dict[str, Any]:
        """Where a message goes and how: the same for all messages of one task, queue and priority."""
        found = self._routes.get(message.kind)
        if found is None:
            route = self._route(message.task, message.queue)
            # Once for a connection: kombu would build each entity anew to see that it is declared already.
            self._ready_producer().maybe_declare(route["entity"])
            found = {
                "exchange": route["exchange"],
                "routing_key": route["routing_key"],
                "delivery_mode": self._app.conf.task_default_delivery_mode,
                "priority": self._priorities()[Priority(message.priority)],
            }
            self._routes[message.kind] = found
        return found

    def _route(self, task: str, queue: str) -> dict[str, Any]:
        options = {"queue": queue} if queue else {}
        entity = self._app.amqp.router.route(options, task)["queue"]
        if entity.exchange.type == "direct" or not entity.exchange.name:
            # The default exchange reaches a queue by its name, without a binding.
            return {"name": entity.name, "exchange": "", "routing_key": entity.name, "entity": entity}
        exchange = entity.exchange.name
        return {"name": entity.name, "exchange": exchange, "routing_key": entity.routing_key, "entity": entity}

    def _priorities(self) -> dict[Priority, int]:
        return _REDIS_PRIORITY if self._is_redis else _AMQP_PRIORITY

    @property
    def _is_redis(self) -> bool:
        return self._connection is not None and self._connection.transport.driver_type == "redis"

    def _ready_producer(self) -> Producer:
        if self._pid != os.getpid():  # forked: the parent's sockets are not ours
            self._pid, self._connection, self._producer = os.getpid(), None, None
        if self._producer is None:
            self._connection = self._connect()
            self._producer = Producer(self._connection.default_channel, auto_declare=False)
        return self._producer

    def _connect(self) -> Connection:
        options = dict(self._app.conf.broker_transport_options or {})
        # `default_channel` retries as long as these let it.
        options |= {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
        connection: Connection = self._app.connection_for_write(connect_timeout=SOCKET_SECONDS)
        if connection.transport.driver_type == "redis":
            options |= {"socket_timeout": SOCKET_SECONDS, "socket_connect_timeout": SOCKET_SECONDS}
        else:
            options |= {"confirm_publish": False, "read_timeout": SOCKET_SECONDS, "write_timeout": SOCKET_SECONDS}
        connection.transport_options = options
        return connection

    def _disconnect(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        self._routes.clear()
        if connection is not None:
            try:
                connection.collect(socket_timeout=0.1)
            except Exception:
                logger.debug("closing a broken broker connection failed", exc_info=True)

    def _queue_size(self, queue: str) -> int:
        assert self._connection is not None
        # A channel of its own: AMQP closes the channel on which a queue is not found.
        channel: Any = self._connection.channel()
        try:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except self._connection.channel_errors:
            return 0
        finally:
            channel.close()

    def _errors(self) -> tuple[type[BaseException], ...]:
        connection = self._connection or self._app.connection_for_write()
        return (
            *connection.connection_errors,
            *connection.channel_errors,
            KombuError,
            OSError,
            TimeoutError,
        )


def _batch(producer: Producer, size: int) -> AbstractContextManager[Any]:
    """One round trip for many messages, where kombu has that."""
    batch = getattr(producer, "batch", None)
    return nullcontext() if batch is None else batch(max_size=max(1, min(size, 1000)))


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


_brokers: dict[int, Broker] = {}


def _forget_locks() -> None:
    for known in _brokers.values():
        known.forget_lock()


os.register_at_fork(after_in_child=_forget_locks)


def broker(app: Celery | None = None) -> Broker:
    """This process's broker for the (current) Celery app."""
    app = app_or_default(app)
    found = _brokers.get(id(app))
    if found is None:
        found = _brokers[id(app)] = Broker(app)
    return found
