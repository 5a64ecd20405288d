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
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from celery import Celery
from celery.app import app_or_default
from celery.exceptions import SoftTimeLimitExceeded
from kombu import Connection, Producer
from kombu.exceptions import KombuError

from routines_app.coordination.broker_connection import (
    close_broken,
    is_missing,
    open_connection,
    redis_means_a_queue,
    root_of,
)
from routines_app.coordination.deliveries import Deliveries, Unbound, ask_about
from routines_app.coordination.envelope import Arguments, Message
from routines_app.coordination.patience import patience, rest_seconds
from routines_app.coordination.routing import Route, Routing, Unroutable
from routines_app.coordination.sending import send_batch
from routines_app.masks import masked_line

logger = logging.getLogger(__name__)

QUIET_SECONDS = 0.5  # after a failure others fail at once, for so long at least: no time-out for each of them


class BrokerAway(Exception):
    """The broker could not be reached or did not answer in time; what was sent is unknown."""


class BrokerRefuses(BrokerAway):
    """The broker answers and takes nothing from anybody: it is out of memory, or may not be written to."""


class Refused(NamedTuple):
    """A message that has no way to go, while others have."""

    message: Message
    why: str


class _Sending(NamedTuple):
    message: Message
    route: Route


class Broker:
    """This process's connection to the broker. Safe to share between threads."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._producer: Producer | None = None
        self._routing = Routing(app)
        self._deliveries = Deliveries(app)
        self._quiet_until = 0.0
        self._last_failure = BrokerAway()
        self._connects = 0

    def publish(self, messages: Sequence[Message]) -> list[Refused]:
        """Send them, or raise `BrokerAway`; then any part may have been sent.

        Returns those that have no way to go: a router fails, their queue does not exist, cannot be declared as it is
        configured, or is something else in the broker; or they cannot be written down. They stop nobody else.
        """
        routed, refused = self._routed(messages)
        if routed:
            with self._connected():
                refused += self._send_declared(routed)
        for message, why in {each.message.kind: each for each in refused}.values():
            logger.error("routine %s cannot be published: %s", message.routine, why)
        return refused

    def connect(self) -> None:
        """Connect now rather than with the first message, or raise `BrokerAway`."""
        with self._connected():
            self._ready_producer()

    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        """How many messages wait in each queue. One that does not exist holds none; one we may not see is left out."""
        with self._connected():
            self._ready_producer()
            sizes = {queue: self._queue_size(queue) for queue in queues}
        return {queue: size for queue, size in sizes.items() if size is not None}

    def era(self) -> tuple[object, ...]:
        """Changes when the broker may have lost messages: another server or a new start, evictions, a new connection.

        It asks the broker, so that one that went away without anybody noticing is noticed; or raises `BrokerAway`.
        """
        with self._connected():
            channel: Any = self._ready_producer().channel
            if self._is_redis:
                return self._era_of_redis(channel.client)
            self._own_channel().close()  # a round trip
            return (self._connects,)

    @property
    def routes_by_arguments(self) -> bool:
        """Whether the arguments of a run may decide where it goes: then messages should have them."""
        return self._routing.reads_arguments

    def queue_of(self, task: str, queue: str, arguments: Arguments | None = None, options: str = "") -> str | None:
        """The name of the queue that a run goes to; None when there is no way to go, or only the broker knows it."""
        found = self._routing.find(task, queue, arguments, options)
        return None if isinstance(found, Unroutable) or found.queue is None else str(found.queue.name)

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def forget_lock(self) -> None:
        """In a forked child: the thread that held the lock, if there was one, does not exist there."""
        self._lock = threading.Lock()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """One thread at a time; while the broker is known to be away nobody queues up to find that out again."""
        self._keep_quiet()
        if not self._lock.acquire(timeout=patience().broker_seconds):
            raise BrokerAway("somebody else has waited for it for long")
        began = time.monotonic()
        try:
            self._keep_quiet()
            yield
        except self._errors() as error:
            self._disconnect()
            failed_at = time.monotonic()
            self._quiet_until = failed_at + rest_seconds(QUIET_SECONDS, failed_at - began)
            self._last_failure = self._failure(error)
            raise self._last_failure from error
        finally:
            self._lock.release()

    def _keep_quiet(self) -> None:
        """What somebody has just found out is told to the others as it is: it is away, or refuses."""
        if time.monotonic() < self._quiet_until:
            raise type(self._last_failure)(f"a moment ago: {self._last_failure}")

    def _routed(self, messages: Sequence[Message]) -> tuple[list[_Sending], list[Refused]]:
        """Those that have a way to go, and those that have not. Messages of one kind are routed once."""
        known: dict[object, Route | Unroutable] = {}
        routed: list[_Sending] = []
        refused: list[Refused] = []
        for message in messages:
            # With arguments each has a way of its own.
            kind = message.kind if message.arguments is None else message.run_id
            if kind not in known:
                known[kind] = self._routing.find(message.task, message.queue, message.arguments, message.options)
            match known[kind]:
                case Unroutable(why):
                    refused.append(Refused(message, why))
                case Route() as route:
                    routed.append(_Sending(message, route))
        return routed, refused

    def _send_declared(self, routed: Sequence[_Sending]) -> list[Refused]:
        """Send them all at once; only when one is wrong, queue by queue, so that the others are sent."""
        if self._fault_of(routed) is None:
            return []
        groups: dict[tuple[str, str], list[_Sending]] = {}
        for sending in routed:
            groups.setdefault((sending.route.exchange, sending.route.routing_key), []).append(sending)
        return [refused for group in groups.values() for refused in self._send_group(group)]

    def _send_group(self, group: Sequence[_Sending]) -> list[Refused]:
        fault = self._fault_of(group)
        if fault is None:
            return []
        if len(group) == 1 or self._is_about_a_queue(fault):
            why = str(fault) if self._is_about_a_queue(fault) else masked_line(f"{type(fault).__name__}: {fault}")
            return [Refused(sending.message, why) for sending in group]
        # By halves: one by one each would be a round trip, and others wait meanwhile.
        middle = len(group) // 2
        return [*self._send_group(group[:middle]), *self._send_group(group[middle:])]

    def _fault_of(self, batch: Sequence[_Sending]) -> Exception | None:
        """Send it. What is wrong with a queue or a message in it, if something is; raises what concerns everybody."""
        try:
            self._publish_batch(batch)
        except SoftTimeLimitExceeded:  # of the task that publishes: it comes from outside, at any moment
            self._disconnect()
            raise
        except Exception as error:
            # What neither the network nor the broker says is about a message: its client cannot write it down.
            if isinstance(root_of(error), self._errors()) and not self._is_about_a_queue(error):
                raise
            self._disconnect()  # AMQP has closed the channel, or half a message is in it
            return error
        return None

    def _publish_batch(self, batch: Sequence[_Sending]) -> None:
        producer = self._ready_producer()
        delivery = partial(self._deliveries.of, producer, is_redis=self._is_redis)
        send_batch(producer, [(message, delivery(message.priority, route), route.headers) for message, route in batch])
        if not self._is_redis:
            # AMQP answers in order: once this is answered, every message before it has been taken. One round
            # trip per batch, where a confirm per message would make one for each.
            ask_about(producer.channel, batch[-1].route)

    @property
    def _is_redis(self) -> bool:
        return self._connection is not None and self._connection.transport.driver_type == "redis"

    def _ready_producer(self) -> Producer:
        if self._pid != os.getpid():  # forked: the parent's sockets are not ours
            self._pid, self._connection, self._producer = os.getpid(), None, None
        if self._producer is None:
            self._connection = open_connection(self._app, patience().broker_seconds)
            self._connects += 1
            self._producer = Producer(self._connection.default_channel, auto_declare=False)
        return self._producer

    def _disconnect(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        self._deliveries.clear()
        if connection is not None:
            close_broken(connection)

    def _era_of_redis(self, client: Any) -> tuple[object, ...]:
        try:
            return client.info("server").get("run_id"), client.info("stats").get("evicted_keys")
        except self._channel_errors():  # some may not ask that
            client.ping()
            return (self._connects,)

    def _own_channel(self) -> Any:
        """AMQP closes the channel on which a queue is not found."""
        assert self._connection is not None  # nosec B101 # for the type checker
        return self._connection.channel()

    def _queue_size(self, queue: str) -> int | None:
        channel = self._own_channel()
        try:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except self._channel_errors() as error:
            if not is_missing(error) and not self._is_about_a_queue(error):
                raise
            return 0 if is_missing(error) else None
        finally:
            channel.close()

    def _failure(self, error: BaseException) -> BrokerAway:
        error = root_of(error)
        kind = BrokerRefuses if isinstance(error, self._channel_errors()) else BrokerAway
        return kind(str(error) or type(error).__name__)

    def _is_about_a_queue(self, error: BaseException) -> bool:
        error = root_of(error)
        if isinstance(error, Unbound):
            return True
        return isinstance(error, self._channel_errors()) and (not self._is_redis or redis_means_a_queue(error))

    def _errors(self) -> tuple[type[BaseException], ...]:
        errors = (self._connection or self._app.connection_for_write()).connection_errors
        return (*errors, *self._channel_errors(), KombuError, Unbound, OSError, TimeoutError)

    def _channel_errors(self) -> tuple[type[BaseException], ...]:
        return tuple((self._connection or self._app.connection_for_write()).channel_errors)


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
