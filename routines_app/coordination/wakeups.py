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

from routines_app.coordination.redis_client import client, key

logger = logging.getLogger(__name__)

BEATS = "wake"
STOPS = "stop"
QUIET_SECONDS = 1.0  # after a failure, wake-ups are not even tried for this long: polling takes over
MAX_SLICE_SECONDS = 1.0  # nobody waits longer at a stretch, so that a signal to the process is served

_quiet_until = 0.0


def wake_beats() -> None:
    """Let sleeping beats look now. Never raises."""
    _send(BEATS, "1")


def stop_runs(run_ids: Iterable[UUID | str]) -> None:
    """Tell worker processes to look at these runs' stop requests now. Never raises."""
    text = ",".join(str(run_id) for run_id in run_ids)
    if text:
        _send(STOPS, text)


def _send(channel: str, text: str) -> None:
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return
    try:
        client().publish(key(channel), text)
    except redis.RedisError:
        _quiet_until = time.monotonic() + QUIET_SECONDS


class Listener:
    """Waits for messages on one channel; without Redis it just waits."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._subscription: Any = None
        self._waiting = False

    def wait(self, seconds: float) -> list[str]:
        """What was sent within `seconds` (at most a slice of 1 s); returns as soon as there is something."""
        began = time.monotonic()
        seconds = min(max(seconds, 0.0), MAX_SLICE_SECONDS)
        self._waiting = True
        try:
            return self._receive(seconds)
        except (redis.RedisError, OSError, ValueError):
            self._disconnect()
            time.sleep(max(0.0, seconds - (time.monotonic() - began)))
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

    def _receive(self, seconds: float) -> list[str]:
        if self._subscription is None:
            connection: Any = client()
            self._subscription = connection.pubsub(ignore_subscribe_messages=True)
            self._subscription.subscribe(key(self._channel))
        deadline = time.monotonic() + seconds
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
