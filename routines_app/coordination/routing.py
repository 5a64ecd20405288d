"""Routes: the way that a run's message goes, decided as Celery decides it for the run's own task.

A router is the project's code or configuration. Whatever it does wrong concerns the runs that it was asked about, and
is found out before the broker is spoken to: so it is never taken for an outage.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from celery import Celery
from celery.app.routes import MapRoute
from celery.app.task import extract_exec_options  # type: ignore[attr-defined] # the stubs do not know it
from celery.utils.functional import maybe_evaluate
from kombu import Queue

from routines_app.conf import get_settings
from routines_app.coordination.envelope import OWN_HEADERS, Arguments
from routines_app.coordination.queue_names import refusal, refusal_of_exchange, refusal_of_named
from routines_app.coordination.wire_limits import unsendable
from routines_app.core.errors import shown
from routines_app.masks import masked_line

# What `apply_async` takes from a task and gives to no router.
_NOT_ROUTED = frozenset({"expires", "time_limit", "soft_time_limit"})
OPTIONS = ("priority", "headers", "exchange", "routing_key")
"""What a routine may say about its messages, beside their queue."""


class Unroutable(NamedTuple):
    """There is no way to go."""

    why: str
    """For the person who can mend it. A router may have quoted the arguments that it was asked about: no secrets."""


class Route(NamedTuple):
    """The way of a message."""

    queue: Queue | None
    """Where it arrives; None where only the broker knows what is bound to the exchange."""
    exchange: str
    routing_key: str
    priority: int | None = None
    """What a task would be sent with."""
    is_exact: bool = False
    """The routine says that number itself, so its word for a priority does not count."""
    delivery_mode: int | str | None = None
    headers: Mapping[str, Any] | None = None


class Routing:
    """What `task_routes` and the tasks themselves say."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    @property
    def reads_arguments(self) -> bool:
        """Whether some router is a function, which may look at the arguments of each run."""
        try:
            return any(not isinstance(maybe_evaluate(router), MapRoute) for router in self._router.routes)
        except Exception:  # noqa: BLE001 - one that cannot be imported: each run is told so when it is routed
            return False

    def find(self, task: str, queue: str, arguments: Arguments | None = None, options: str = "") -> Route | Unroutable:
        """The way that the routine says itself, else the task, else the routers. Never raises."""
        try:
            return self._route(task, queue, arguments or Arguments([], {}), _read(options))
        except Exception as error:  # noqa: BLE001 - a router may raise whatever it likes
            return Unroutable(f"the route of {task} fails: {_told(error)}")

    def _route(self, task: str, queue: str, arguments: Arguments, own: dict[str, Any]) -> Route | Unroutable:
        # Before Celery is asked: it would remember each name as a queue of the app.
        if queue and (right := refusal_of_named(queue, self._app)):
            return Unroutable(f"queue {shown(queue)} is not accepted: {right}")
        for taken in sorted(OWN_HEADERS & own.get("headers", {}).keys()):
            return Unroutable(f"header {taken} is not accepted: it is one of Celery's or the broker's")
        known = self._app.tasks.get(task)
        options = _options_of(known) | ({"queue": queue} if queue else {}) | own
        found = self._router.route(options, task, tuple(arguments.args), dict(arguments.kwargs), known)
        route = self._way(found)
        if route is None:
            return Unroutable(f"the route of {task} names no queue, and a run needs one: {_shown(found)}")
        if wrong := unsendable(route.exchange, route.routing_key, route.priority, route.headers):
            return Unroutable(f"what the route of {task} says cannot be sent: {wrong}")
        if own.keys() & {"exchange", "routing_key"} and (wrong := self._refusal_of_own(route, own)):
            return Unroutable(wrong)
        name = "" if route.queue is None else str(route.queue.name)
        # A name that is the row's own has been looked at already.
        if name and name != queue and (right := refusal(name, self._app)):
            return Unroutable(f"the route of {task} names queue {shown(name)}, which is not accepted: {right}")
        return route._replace(is_exact="priority" in own)

    def _refusal_of_own(self, route: Route, own: Mapping[str, Any]) -> str:
        """An exchange or a key of the routine's own names a queue as well as its name does."""
        exchange = str(own.get("exchange", ""))
        if right := refusal_of_exchange(exchange, self._app):
            return f"exchange {shown(exchange)} is not accepted: {right}"
        if not route.exchange:  # they lead nowhere: the queue is what others have said
            return ""
        if route.queue is None and get_settings().queues is not None:
            return (
                f"exchange {shown(route.exchange)} with routing key {shown(route.routing_key)} is not accepted:"
                " only the broker knows its queues, and ROUTINES['QUEUES'] says which may be named"
            )
        for queue in self._bound(route.queue, route.exchange, route.routing_key):
            if right := refusal_of_named(str(queue.name), self._app):
                return f"queue {shown(queue.name)}, where its exchange leads, is not accepted: {right}"
        return ""

    def _way(self, found: Mapping[str, Any]) -> Route | None:
        """As `send_task_message` reads what was found: a direct queue by its name, without a binding."""
        queue, key = found.get("queue"), found.get("routing_key")
        exchange = getattr(found.get("exchange"), "name", found.get("exchange"))
        if queue is None and exchange is None:
            queue = self._app.amqp.default_queue
        queue = queue if isinstance(queue, Queue) else None
        kind = found.get("exchange_type") or (queue.exchange.type if queue else "direct")
        by_name = kind == "direct" and not (exchange and key)
        if by_name or not (exchange or (queue and queue.exchange.name)):
            return None if queue is None else _with_properties(Route(queue, "", queue.name), found)
        exchange = str(exchange or queue.exchange.name)  # type: ignore[union-attr] # one of them is there
        key = str(key or (queue.routing_key if queue else ""))
        return _with_properties(Route(next(self._bound(queue, exchange, key), None), exchange, key), found)

    def _bound(self, named: Queue | None, exchange: str, key: str) -> Iterator[Queue]:
        """The queues of the app that get it; first the one that is named, if it is bound there."""
        queues = [*([] if named is None else [named]), *self._app.amqp.queues.values()]
        return (queue for queue in queues if _gets(queue, exchange, key))

    @property
    def _router(self) -> Any:
        return self._app.amqp.router


def _read(options: str) -> dict[str, Any]:
    """The routine's options. Plain SQL may have written something else: then its runs cannot be routed."""
    stored = json.loads(options) if options else {}
    return {name: stored[name] for name in OPTIONS if stored.get(name) not in (None, "", {})}


def _options_of(task: Any) -> dict[str, Any]:
    """What a task says about its messages; of one that lives elsewhere nothing is known."""
    if task is None:
        return {}
    return {name: value for name, value in extract_exec_options(task).items() if name not in _NOT_ROUTED}


def _with_properties(route: Route, found: Mapping[str, Any]) -> Route:
    priority, headers = found.get("priority"), found.get("headers")
    json.dumps(headers)  # raises what sending would, for all messages of a batch
    usual_mode = None if route.queue is None else route.queue.exchange.delivery_mode
    return route._replace(
        priority=None if priority is None else int(priority),
        delivery_mode=found.get("delivery_mode") or usual_mode,
        headers=dict(headers) if headers else None,
    )


def _gets(queue: Queue, exchange: str, key: str) -> bool:
    if queue.exchange.name != exchange:
        return False
    match queue.exchange.type:
        case "fanout":
            return True
        case "topic":
            return _matches(str(queue.routing_key).split("."), key.split("."))
        case _:
            return str(queue.routing_key) == key


def _matches(pattern: list[str], words: list[str]) -> bool:
    """Of a topic: a star stands for one word, a hash for any number of them."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return _matches(pattern[1:], words) or (bool(words) and _matches(pattern, words[1:]))
    return bool(words) and pattern[0] in ("*", words[0]) and _matches(pattern[1:], words[1:])


def _shown(route: Mapping[str, Any]) -> str:
    said = {key: value for key, value in route.items() if value is not None}
    return masked_line(", ".join(f"{key}={value!r}" for key, value in said.items())) or "nothing"


def _told(error: Exception) -> str:
    try:
        return masked_line(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - some cannot even be printed
        return type(error).__name__
