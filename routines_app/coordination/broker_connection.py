"""A connection to the broker that fails soon, where Celery's own would try for minutes."""

from __future__ import annotations

import logging
from typing import Any

from celery import Celery
from kombu import Connection
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

# What a Redis says when one key is wrong. All its other errors are about the server.
_ABOUT_A_KEY = ("WRONGTYPE", "NOPERM")


def open_connection(app: Celery, seconds: float) -> Connection:
    """Connects when it is first used. Nothing on it takes longer than so many seconds."""
    options = dict(app.conf.broker_transport_options or {})
    # `default_channel` retries as long as these let it.
    options |= {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
    connection: Connection = app.connection_for_write(connect_timeout=seconds)
    if connection.transport.driver_type == "redis":
        options |= _redis_limits(connection, options, seconds)
    else:
        options |= {"confirm_publish": False, "read_timeout": seconds, "write_timeout": seconds}
    connection.transport_options = options
    return connection


def _redis_limits(connection: Connection, options: dict[str, Any], seconds: float) -> dict[str, Any]:
    if connection.transport_cls != "sentinel":
        return {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    # Sentinels are asked one after another, and the master after them: all together have as long as one server has.
    share = seconds / (max(1, len(connection.alt)) + 1)
    limits = {"socket_timeout": share, "socket_connect_timeout": share}
    return limits | {"sentinel_kwargs": (options.get("sentinel_kwargs") or {}) | limits}


def close_broken(connection: Connection) -> None:
    """Let go of a connection on which anything may have happened. Never raises."""
    try:
        connection.collect(socket_timeout=0.1)
    except Exception:
        logger.debug("closing a broken broker connection failed", exc_info=True)


def root_of(error: BaseException) -> BaseException:
    """What the server or the network said: kombu wraps the error of a batch in one of its own."""
    return error.__cause__ if isinstance(error, KombuError) and error.__cause__ is not None else error


def is_missing(error: BaseException) -> bool:
    """Whether the broker says that there is no such queue; kombu says it in AMQP's words for the other brokers."""
    return str(getattr(error, "reply_code", "")) == "404"


def redis_means_a_queue(error: BaseException) -> bool:
    """Whether only who sends to that queue is refused."""
    said = str(error)
    return any(word in said for word in _ABOUT_A_KEY)
