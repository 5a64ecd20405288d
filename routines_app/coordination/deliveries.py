"""How messages of one route are sent: what kombu is told for each, found out once for a connection."""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Producer
from kombu.common import Broadcast

from routines_app.coordination.priorities import most_of, on_amqp, on_redis
from routines_app.coordination.routing import Route

MOST_KNOWN = 1000


class Unbound(Exception):
    """No queue is bound to an exchange that a route names: whatever is sent there would be lost."""


class Deliveries:
    """Those of one connection."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._known: dict[tuple[object, ...], dict[str, Any]] = {}

    def clear(self) -> None:
        self._known.clear()

    def of(self, producer: Producer, word: str, route: Route, *, is_redis: bool) -> dict[str, Any]:
        """Exchange, routing key, mode and priority for a run of that priority, or raise `Unbound`."""
        word = "" if route.is_exact else word
        queue = None if route.queue is None else route.queue.name  # its x-max-priority counts
        kind = word, queue, route.exchange, route.routing_key, route.priority, route.delivery_mode
        found = self._known.get(kind)
        if found is None:
            if len(self._known) >= MOST_KNOWN:  # a router may make up a routing key for each run
                self._known.clear()
            self._declare(producer, route)
            found = self._known[kind] = {
                "exchange": route.exchange,
                "routing_key": route.routing_key,
                "delivery_mode": route.delivery_mode or self._app.conf.task_default_delivery_mode,
                "priority": _priority(producer.channel, word, route, is_redis),
                # What reaches no queue comes back, where nobody else has seen to it, instead of being dropped.
                "mandatory": route.queue is None,
            }
        return found

    def _declare(self, producer: Producer, route: Route) -> None:
        if route.queue is None:
            _refuse_unbound(producer.channel, route)
        elif not isinstance(route.queue, Broadcast):  # each worker makes its own
            # Once for a connection: kombu would build each entity anew to see that it is declared already.
            producer.maybe_declare(route.queue)


def ask_about(channel: Any, route: Route) -> None:
    """One round trip over AMQP, which answers in order."""
    if route.queue is None or isinstance(route.queue, Broadcast):
        channel.exchange_declare(exchange=route.exchange, type="direct", passive=True)
    else:
        channel.queue_declare(queue=route.queue.name, passive=True)


def _priority(channel: Any, word: str, route: Route, is_redis: bool) -> int | None:
    if is_redis:
        return on_redis(word, route.priority, channel.priority_steps)
    return on_amqp(word, route.priority, most_of(route.queue))


def _refuse_unbound(channel: Any, route: Route) -> None:
    """Where kombu keeps the bindings itself it is asked for them; AMQP says it when a message comes back."""
    look_up = getattr(channel, "_lookup", None)
    if look_up is not None and not look_up(route.exchange, route.routing_key):
        raise Unbound(f"no queue is bound to exchange {route.exchange!r} with routing key {route.routing_key!r}")
