"""Wake-ups: a beat that sleeps is told at once that there is something to do.

A wake-up carries no facts and may be lost: beats poll as well. Two channels: one wakes beats, one tells
worker processes which runs have been asked to stop.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import redis

from routines_app.coordination.redis_client import RedisAway, asking, key

logger = logging.getLogger(__name__)

BEATS = "wake"
STOPS = "stop"
AGAIN_SECONDS = 2.0  # between two tries to subscribe
MAX_SLICE_SECONDS = 1.0  # nobody waits longer at a stretch, so that a signal to the process is served


def wake_beats() -> None:
    """Let sleeping beats look now. Never raises."""
    _send(BEATS, "1")


def stop_runs(run_ids: Iterable[UUID | str]) -> None:
    """Tell worker processes to look at these runs' stop requests now. Never raises."""
    text = ",".join(str(run_id) for run_id in run_ids)
    if text:
        _send(STOPS, text)


def _send(channel: str, text: str) -> None:
    try:
        # A courtesy: after a failure it is not even tried for a while, and polling takes over.
        with asking(courtesy=True) as client:
            client.publish(key(channel), text)
    except RedisAway:
        return


class Listener:
    """Waits for messages on one channel; without Redis it just waits."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._subscription: Any = None
        self._subscribe_at = 0.0
        self._waiting = False

    def wait(self, seconds: float) -> list[str]:
        """What was sent within `seconds` (at most a slice of 1 s); returns as soon as there is something."""
        deadline = time.monotonic() + min(max(seconds, 0.0), MAX_SLICE_SECONDS)
        self._waiting = True
        try:
            self._ensure_subscribed()
            return self._receive(deadline)
        except (redis.RedisError, OSError, ValueError):
            self._disconnect()
            time.sleep(max(0.0, deadline - time.monotonic()))
            return []
        finally:
            self._waiting = False

    def close(self) -> None:
        """Let go of the socket, unless called by a signal handler in the middle of a wait.

        Closed under the wait, the socket would raise an OSError on the way out of redis-py, which would take the
        place of the handler's SystemExit, and the process would go on.
        """
        if not self._waiting:
            self._disconnect()

    def _disconnect(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                subscription.close()
            except (redis.RedisError, OSError):
                logger.debug("closing the subscription to %s failed", self._channel, exc_info=True)

    def _ensure_subscribed(self) -> None:
        if self._subscription is not None:
            return
        if time.monotonic() < self._subscribe_at:
            raise RedisAway("it was away a moment ago")
        # Moved on before the try: one that is frozen costs a time-out, and whoever waits has something due.
        self._subscribe_at = time.monotonic() + AGAIN_SECONDS
        with asking() as client:
            asked: Any = client
            asked.ping()  # an answer: to subscribe is only to send, and a frozen server takes that too
            self._subscription = asked.pubsub(ignore_subscribe_messages=True)
            self._subscription.subscribe(key(self._channel))

    def _receive(self, deadline: float) -> list[str]:
        received: list[str] = []
        while not received:
            left = deadline - time.monotonic()
            message = self._subscription.get_message(timeout=max(left, 0.0))
            while message is not None:
                received.append(str(message["data"]))
                message = self._subscription.get_message(timeout=0.0)
            if left <= 0:
                break
        return received
