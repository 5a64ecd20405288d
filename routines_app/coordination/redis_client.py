"""One Redis client per process.

Redis is trusted with hurry, never with truth: everything here may fail, fast, and its callers carry on.
"""

from __future__ import annotations

import os

import redis
from celery import current_app
from redis.backoff import NoBackoff
from redis.retry import Retry

from routines_app.conf import get_settings

SOCKET_SECONDS = 1.0  # a frozen Redis must not hold a tick or a web request up
DEFAULT_URL = "redis://127.0.0.1:6379/0"

_made: tuple[int, str, redis.Redis] | None = None


def client() -> redis.Redis:
    """This process's client. A forked child gets a new one: sockets must not be shared."""
    global _made
    pid, url = os.getpid(), redis_url()
    # Replaced as a whole and without a lock, which a fork could leave held: of two threads that come first each gets
    # a client, and one of the two is kept.
    made = _made
    if made is None or made[:2] != (pid, url):
        made = _made = (pid, url, _connect(url))
    return made[2]


def _connect(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
        # One immediate retry replaces a connection that a restarted server has dropped.
        retry=Retry(NoBackoff(), 1),
        decode_responses=True,
    )


def redis_url() -> str:
    """The `REDIS_URL` setting, else the broker if that is a Redis, else localhost."""
    given = get_settings().redis_url
    if given:
        return given
    broker = str(current_app.conf.broker_write_url or "").split(";")[0]
    return broker if broker.startswith(("redis://", "rediss://", "unix://")) else DEFAULT_URL


def key(*parts: object) -> str:
    """A key or channel name under the project's prefix."""
    return get_settings().key_prefix + ":".join(str(part) for part in parts)
