"""A monitor as Flower has one: receives Celery's events in a thread, for as long as a test lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery

from tests.processes import wait_for

ENDS = ("task-succeeded", "task-failed", "task-retried", "task-rejected", "task-revoked")


class Monitor:
    """What was received, in order."""

    def __init__(self, app: Celery) -> None:
        self._app: Any = app
        self._ready = threading.Event()
        self._stop = threading.Event()
        self.events: list[dict[str, Any]] = []
        self.messages = 0

    def listen(self) -> None:
        with self._app.connection_for_read() as connection:
            receiver = self._app.events.Receiver(connection, handlers={"*": self.events.append})
            receive = receiver._receive

            def counted(body: Any, message: Any) -> None:
                self.messages += 1
                receive(body, message)

            receiver._receive = counted
            with receiver.consumer_context(wakeup=False) as (own, *_):
                self.drain(own)  # on Redis this is what subscribes
                self._ready.set()
                while not self._stop.is_set():
                    self.drain(own)

    @staticmethod
    def drain(connection: Any) -> None:
        try:
            connection.drain_events(timeout=0.2)
        except TimeoutError:
            return

    def of(self, kind: str, **facts: Any) -> list[dict[str, Any]]:
        """The events of that kind with these facts."""
        found = [event for event in list(self.events) if event["type"] == kind]
        return [event for event in found if all(event.get(name) == value for name, value in facts.items())]

    def kinds(self, **facts: Any) -> list[str]:
        """The kinds of the events with these facts."""
        return [e["type"] for e in list(self.events) if all(e.get(name) == value for name, value in facts.items())]

    def ends_of(self, task_id: object) -> list[dict[str, Any]]:
        """What Celery says of how this task ended."""
        return [event for kind in ENDS for event in self.of(kind, uuid=str(task_id))]

    def wait_for(self, kind: str, timeout: float = 15, **facts: Any) -> dict[str, Any]:
        wait_for(lambda: self.of(kind, **facts), timeout, f"no {kind} with {facts} among {len(self.events)} events")
        return self.of(kind, **facts)[0]


@contextmanager
def monitoring(app: Celery) -> Iterator[Monitor]:
    """A monitor that listens by the time that the block begins."""
    monitor = Monitor(app)
    thread = threading.Thread(target=monitor.listen, daemon=True)
    thread.start()
    assert monitor._ready.wait(15), "the monitor could not listen"
    try:
        yield monitor
    finally:
        monitor._stop.set()
        thread.join(10)
