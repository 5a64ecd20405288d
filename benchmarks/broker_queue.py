"""The broker's queue as seen from outside: how long it is, and which message came when.

Nothing is taken out: messages that vanish from the broker would look lost, and be sent again.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis

from tests.processes import wait_for

POLL_SECONDS = 0.003
ROUTINE = re.compile(r"'routine': '([^']*)'")  # as messages of runs show it to monitors
# kombu keeps a list for each step of priority.
KEYS = ["celery", *(f"celery\x06\x16{step}" for step in (3, 6, 9))]


class BrokerQueue:
    """The default queue in one Redis database."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def length(self) -> int:
        pipeline = self._client.pipeline(transaction=False)
        for key in KEYS:
            pipeline.llen(key)
        return sum(pipeline.execute())

    def empty(self) -> None:
        self._client.delete(*KEYS)

    def wait_length(self, wanted: Callable[[int], bool], timeout: float, say: Callable[[str], None]) -> float:
        """The moment (epoch seconds) at which the length was first seen as wanted."""

        def reached() -> bool:
            length = self.length()
            say(f"{length:,} messages in the broker")
            return wanted(length)

        wait_for(reached, timeout, "the queue did not get there", every=POLL_SECONDS)
        return time.time()


@dataclass(frozen=True)
class Arrival:
    """One message and when it was first seen in the broker."""

    at: float
    """Epoch seconds."""
    name: str
    """The routine's or entry's name."""
    id: str


class Arrivals:
    """Watches a queue that nobody consumes: messages are pushed at the head, so places from the tail stay."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._seen = dict.fromkeys(KEYS, 0)
        self._raw: list[tuple[float, bytes]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Arrivals:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def count(self) -> int:
        return len(self._raw)

    def read(self) -> list[Arrival]:
        return [self._arrival(at, raw) for at, raw in list(self._raw)]

    def _watch(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            pipeline = self._client.pipeline(transaction=False)
            for key, seen in self._seen.items():
                pipeline.lrange(key, -(seen + 1000), -(seen + 1))
            found = pipeline.execute()
            now = time.time()
            for key, messages in zip(self._seen, found, strict=True):
                self._seen[key] += len(messages)
                self._raw += [(now, message) for message in reversed(messages)]

    def _arrival(self, at: float, raw: bytes) -> Arrival:
        headers = json.loads(raw)["headers"]
        routine = ROUTINE.search(headers["kwargsrepr"])
        name = routine[1] if routine else headers.get("shadow") or headers.get("periodic_task_name") or ""
        return Arrival(at, name, headers["id"])
