"""Monitors: whoever receives Celery's events (Flower, `celery events`, a camera) is told what happens to runs.

Events are a courtesy, and nobody waits for them: whoever makes one puts it down and goes on. A thread sends them, many
in one message, over a connection that fails soon; it exists while there is something to send, and a while after. While
the broker is away the newest wait, as many as there is room for.

Nothing is made, and no thread is started, where nobody wants events. A worker knows by itself whether somebody does
(`-E`, or asked by remote control), and says so in Redis for all other processes, which ask there now and then; those
also take it from the settings of Celery that let clients and workers send events.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from celery import Celery
from celery.app import app_or_default
from kombu import Connection

from routines_app.conf import get_settings
from routines_app.coordination.broker_connection import close_broken, open_connection
from routines_app.coordination.patience import patience
from routines_app.coordination.redis_client import RedisAway, asking, key, problem

logger = logging.getLogger(__name__)

THREAD = "routines-monitors"
GROUP = "routine"  # how the kinds of our events begin
MOST_WAITING = 10_000
MOST_AT_ONCE = 200  # in one message
IDLE_SECONDS = 15.0  # how long the thread and its connection wait for something more to send
REST_SECONDS = (0.5, 15.0)  # after a failure: the first, doubling to the last
OLD_SECONDS = 60.0  # what could not be sent for so long is given up
LEAVING_SECONDS = 1.0  # how long a process that ends waits for its last events
ASK_SECONDS = 15.0  # how often a process that is no worker asks whether somebody wants events
WANTED_SECONDS = 60  # how long a worker's word is good


# Whether somebody wants events


def wanted() -> bool:
    """Whether to tell. Cheap enough to be asked at every event."""
    said = get_settings().events
    return _asks() if said is None else said


def ask(asks: Callable[[], bool]) -> None:
    """This process knows by itself whether somebody wants events."""
    global _asks
    _asks = asks


def announce() -> None:
    """A worker's word for the others. Never raises."""
    try:
        with asking(courtesy=True) as client:
            client.set(key("events"), "wanted", ex=WANTED_SECONDS)
    except RedisAway:
        return


class Hearsay:
    """What workers have said, as far as this process knows."""

    def __init__(self) -> None:
        self._ask_at = 0.0
        self._wanted = False

    def wanted(self) -> bool:
        """A Redis that is known to be away is not waited for."""
        if time.monotonic() >= self._ask_at and not problem():
            self._ask_at = time.monotonic() + ASK_SECONDS
            self._wanted = self._ask()
        return self._wanted

    def _ask(self) -> bool:
        try:
            with asking(courtesy=True) as client:
                return bool(client.exists(key("events")))
        except RedisAway:
            return False


_hearsay = Hearsay()


def _as_configured() -> bool:
    conf = app_or_default().conf
    if conf.task_always_eager:  # there may be neither a broker nor a Redis
        return False
    return bool(conf.worker_send_task_events or conf.task_send_sent_event) or _hearsay.wanted()


_asks: Callable[[], bool] = _as_configured


# Telling


class Event(NamedTuple):
    kind: str
    facts: dict[str, Any]


def tell(kind: str, facts: dict[str, Any]) -> None:
    """Put an event down to be sent. Never waits and never raises."""
    _teller.tell(kind, facts)


def flush(seconds: float = LEAVING_SECONDS) -> None:
    """Wait until everything is sent, but not longer than this."""
    _teller.flush(seconds)


def call_oneself(name: str) -> None:
    """How this process and its children are named in events; a worker has a name already."""
    _teller.name = name


class Teller:
    """The events of this process that are to be sent, and the thread that does it."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self._events: deque[Event] = deque(maxlen=MOST_WAITING)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def tell(self, kind: str, facts: dict[str, Any]) -> None:
        with self._changed:
            self._events.append(Event(kind, facts | {"timestamp": time.time()}))  # as Celery's own events have it
            if not self._is_sending:
                self._start()
            self._changed.notify_all()

    def flush(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_sending or not self._events, seconds)

    @property
    def _is_sending(self) -> bool:
        """A thread may have died of what nobody has foreseen."""
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        wire = Wire(app_or_default(), self.name)  # a new thread would take the default app for the current one
        thread = threading.Thread(target=self._work, args=(wire,), name=THREAD, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads for this process
            return
        self._thread = thread

    def _work(self, wire: Wire) -> None:
        rest = REST_SECONDS[0]
        while batch := self._next():
            if wire.send(batch):
                self._forget(batch)
                rest = REST_SECONDS[0]
            else:
                time.sleep(rest)
                rest = min(rest * 2, REST_SECONDS[1])
        wire.close()

    def _next(self) -> list[Event]:
        """The oldest, which stay until they are sent. None when there was nothing for a while: the thread ends."""
        with self._changed:
            self._forget_old()
            self._changed.wait_for(lambda: bool(self._events), IDLE_SECONDS)
            if not self._events:
                self._thread = None  # under the lock: whoever tells something from now on starts another
            return list(islice(self._events, MOST_AT_ONCE))

    def _forget_old(self) -> None:
        """Each by its own age: those that came later have their time still."""
        oldest = time.time() - OLD_SECONDS
        while self._events and self._events[0].facts["timestamp"] < oldest:
            self._events.popleft()
        self._changed.notify_all()

    def _forget(self, batch: list[Event]) -> None:
        with self._changed:
            for event in batch:
                if self._events and self._events[0] is event:  # the oldest may have had to make room for newer ones
                    self._events.popleft()
            self._changed.notify_all()


class Wire:
    """A thread's connection to the broker, made when it is first needed."""

    def __init__(self, app: Celery, name: str | None) -> None:
        self._app = app
        self._name = name
        self._connection: Connection | None = None
        self._dispatcher: Any = None
        self._failed = False

    def send(self, batch: list[Event]) -> bool:
        """Whether they are sent, as one message; if not, any of them may be all the same. Never raises."""
        try:
            self._ensure_connected()
            for kind, facts in batch:
                self._dispatcher.send(kind, **facts)
            self._dispatcher.flush(errors=False)
        except Exception as error:  # noqa: BLE001 - whatever the broker, kombu or a serializer raises
            if not self._failed:
                logger.warning("monitors cannot be told of runs, which changes nothing about these: %r", error)
            self._failed = True
            self.close()
            return False
        self._failed = False
        return True

    def close(self) -> None:
        connection, self._connection, self._dispatcher = self._connection, None, None
        if connection is not None:
            close_broken(connection)

    def _ensure_connected(self) -> None:
        if self._dispatcher is not None:
            return
        self._connection = open_connection(self._app, patience().broker_seconds)
        self._dispatcher = self._app.events.Dispatcher(
            self._connection,
            channel=self._connection.default_channel,
            hostname=self._name,
            buffer_while_offline=False,
            # Events of this group stay together until they are flushed: so Celery's workers send theirs.
            buffer_group={GROUP},
            buffer_limit=MOST_WAITING,
        )


_teller = Teller()


def _begin_anew() -> None:
    """In a forked child: neither the thread nor its connection nor what it had to send is ours."""
    global _teller, _hearsay
    _teller, _hearsay = Teller(_teller.name), Hearsay()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(flush)
