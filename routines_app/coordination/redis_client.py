"""One Redis client per process, and whether Redis is there.

Redis is trusted with hurry, never with truth: everything here may fail, fast, and its callers carry on. Whoever asks
Redis for something does it inside `asking`, and nothing else there: what goes wrong with Redis, its settings included,
is `RedisAway`; anything else is a bug, and stays one. The first to find Redis away logs it, once until it is back.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AskError, ClusterError
from redis.retry import Retry
from redis.sentinel import Sentinel

from routines_app.conf import get_settings
from routines_app.coordination.patience import patience, rest_seconds
from routines_app.coordination.redis_address import FORMS, Address, NoAddress, addresses, source

logger = logging.getLogger(__name__)

QUIET_SECONDS = 1.0  # after a failure, what is only a courtesy is not even tried, for this long at least
REFUSED_SECONDS = 60.0  # a server that refused something is not called back before it has refused nothing for so long
FULL_SECONDS = 3.0  # the same of one that was out of memory: it may still be read, and writes come every few seconds
LONGEST_TEXT = 300
FULL = "Redis is out of memory"


class RedisAway(redis.RedisError):
    """Redis could not be asked; the text says why."""


class _Made(NamedTuple):
    """A client and what it was made for."""

    wanted: tuple[object, ...]
    turn: int
    """Which of the servers that the setting names."""
    others: int
    client: redis.Redis | None


_made: _Made | None = None

_ERRORS = (redis.RedisError, OSError, UnicodeError)  # the last: an answer that is no text


@contextmanager
def asking(*, courtesy: bool = False) -> Iterator[redis.Redis]:
    """This process's client, for one errand. Raises `RedisAway`; for a courtesy at once, just after a failure."""
    state, began = _state(), time.monotonic()
    if state.is_quiet and (courtesy or not patience().insists):
        raise RedisAway("it was away a moment ago")
    try:
        asked = client()
    except Exception as error:  # whatever the settings make Celery, kombu or redis-py raise
        raise _away(error, began) from error
    try:
        yield asked
    except _ERRORS as error:
        raise _away(error, began) from error
    state.is_back()


def _away(error: Exception, began: float) -> RedisAway:
    _try_another_next()
    return RedisAway(_state().is_away(error, time.monotonic() - began))


def client() -> redis.Redis:
    """This process's client. A forked child gets a new one: sockets must not be shared. Raises `NoAddress`."""
    global _made
    wanted = (os.getpid(), patience(), *source())
    # Replaced as a whole and without a lock, which a fork could leave held: of two threads that come first each gets
    # a client, and one of the two is kept.
    made = _made
    if made is None or made.wanted != wanted:
        made = _Made(wanted, 0, 0, None)
    if made.client is None:
        found = addresses()
        made = _made = _Made(wanted, made.turn, len(found) - 1, client_of(found[made.turn % len(found)]))
    assert made.client is not None  # nosec B101 # for the type checker
    return made.client


def _try_another_next() -> None:
    """Where the setting names several servers, the next call goes to the next one."""
    global _made
    made = _made
    if made is not None and made.others:
        _made = made._replace(turn=made.turn + 1, client=None)


def client_of(address: Address) -> redis.Redis:
    """A client that has not connected yet. What redis-py has against the options it says now: `NoAddress`."""
    try:
        made = _behind_sentinels(address) if address.sentinels else _direct(address)
        made.connection_pool.connection_class(**made.connection_pool.connection_kwargs)
    except (redis.RedisError, TypeError, ValueError) as error:
        raise NoAddress(f"the address has options that redis-py does not take: {error}") from error
    return made


def _direct(address: Address) -> redis.Redis:
    # One immediate retry replaces a connection that a restarted server has dropped. Not after a time-out: whoever
    # waits for a frozen server would wait twice.
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    pool = redis.ConnectionPool(**address.options | _limits(1), retry=retry, decode_responses=True)
    return redis.Redis.from_pool(pool)


def _behind_sentinels(address: Address) -> redis.Redis:
    # They are asked one after another, and the master after them: all together have as long as one server has.
    limits = _limits(len(address.sentinels) + 1) | {"retry": Retry(NoBackoff(), 0)}
    manager: Any = Sentinel(  # type: ignore[no-untyped-call]
        list(address.sentinels),
        min_other_sentinels=address.min_other_sentinels,
        sentinel_kwargs=address.sentinel_options | limits,
        **address.options | limits | {"decode_responses": True},
    )
    found: redis.Redis = manager.master_for(address.master_name, redis.Redis)
    return found


def _limits(shares: int) -> dict[str, Any]:
    seconds = patience().redis_seconds / shares
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds}


class _State:
    """Whether Redis does what this process asks of it. One line in the log when it stops, one when it is back."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.why = ""
        self.since = 0.0
        self.refuses_until = float("-inf")
        self.quiet_until = 0.0

    @property
    def problem(self) -> str:
        return self.why and (self.why if self.why.startswith(FULL) else f"Redis is away: {self.why}")

    @property
    def is_quiet(self) -> bool:
        return time.monotonic() < self.quiet_until

    def is_away(self, error: Exception, took: float) -> str:
        now = time.monotonic()
        known, self.why = bool(self.why), _why(error)
        self.quiet_until = now + rest_seconds(QUIET_SECONDS, took)
        if isinstance(error, redis.ResponseError):
            is_full = isinstance(error, redis.OutOfMemoryError)
            self.refuses_until = max(self.refuses_until, now + (FULL_SECONDS if is_full else REFUSED_SECONDS))
        if not known:
            self.since = now
            logger.error("%s; exclusive runs wait for it, and all others may be slower", self.problem)
        return self.why

    def is_back(self) -> None:
        """It did what it was asked. One that refuses (a permission, a Cluster) may do the next thing all the same."""
        self.quiet_until = 0.0
        if self.why and time.monotonic() > self.refuses_until:
            self.why = ""
            logger.warning("Redis is back after %.1f s", time.monotonic() - self.since)


_known_state = _State()


def _state() -> _State:
    """A forked child finds out for itself."""
    global _known_state
    if _known_state.pid != os.getpid():
        _known_state = _State()
    return _known_state


def problem() -> str:
    """Why Redis cannot be used, as far as this process knows; empty when it can, or nobody has asked."""
    return _state().problem


def _why(error: Exception) -> str:
    if isinstance(error, redis.OutOfMemoryError):
        return f"{FULL}, and takes nothing until there is room ({error})"
    if isinstance(error, AskError | ClusterError):  # MOVED and its like: only a Cluster says that
        return f"it is a Cluster, which cannot be used; give a Redis that is none, as {FORMS} ({error})"
    return (str(error) or type(error).__name__)[:LONGEST_TEXT]


def key(*parts: object) -> str:
    """A key or channel name under the project's prefix."""
    return get_settings().key_prefix + ":".join(str(part) for part in parts)
