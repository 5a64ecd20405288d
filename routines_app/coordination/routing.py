"""Routes: the queue that a run's message goes to, decided as Celery decides it for the run's own task.

A router is the project's code or configuration. Whatever it does wrong concerns the runs that it was asked about, and
is found out before the broker is spoken to: so it is never taken for an outage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from celery import Celery
from celery.app.routes import MapRoute
from celery.utils.functional import maybe_evaluate
from kombu import Queue

from routines_app.coordination.envelope import Arguments
from routines_app.coordination.queue_names import refusal, refusal_of_named
from routines_app.core.errors import shown
from routines_app.masks import masked_line


class Unroutable(NamedTuple):
    """There is no way to go."""

    why: str
    """For the person who can mend it. A router may have quoted the arguments that it was asked about: no secrets."""


class Route(NamedTuple):
    """The way to one queue."""

    queue: Queue
    exchange: str
    routing_key: str


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

    def find(self, task: str, queue: str, arguments: Arguments | None = None) -> Route | Unroutable:
        """The way to the routine's own queue, else the task's, else what the routers say. Never raises."""
        try:
            return self._route(task, queue, arguments or Arguments([], {}))
        except Exception as error:  # noqa: BLE001 - a router may raise whatever it likes
            return Unroutable(f"the route of {task} fails: {_told(error)}")

    def _route(self, task: str, queue: str, arguments: Arguments) -> Route | Unroutable:
        # Before Celery is asked: it would remember each name as a queue of the app.
        if queue and (right := refusal_of_named(queue, self._app)):
            return Unroutable(f"queue {shown(queue)} is not accepted: {right}")
        known = self._app.tasks.get(task)
        wanted = queue or getattr(known, "queue", None)
        options = {"queue": wanted} if wanted else {}
        found = self._router.route(options, task, tuple(arguments.args), dict(arguments.kwargs), known)
        entity = found.get("queue")
        if not isinstance(entity, Queue):
            return Unroutable(f"the route of {task} names no queue, and a run needs one: {_shown(found)}")
        # A name that is the row's own has been looked at already.
        if entity.name != queue and (right := refusal(str(entity.name), self._app)):
            return Unroutable(f"the route of {task} names queue {shown(entity.name)}, which is not accepted: {right}")
        return _way_to(entity)

    @property
    def _router(self) -> Any:
        return self._app.amqp.router


def _way_to(entity: Queue) -> Route:
    if entity.exchange.type == "direct" or not entity.exchange.name:
        return Route(entity, "", entity.name)  # the default exchange reaches a queue by its name, without a binding
    return Route(entity, entity.exchange.name, entity.routing_key)


def _shown(route: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in route.items()) or "nothing"


def _told(error: Exception) -> str:
    try:
        return masked_line(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - some cannot even be printed
        return type(error).__name__
