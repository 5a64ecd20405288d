"""What broker and Redis say about themselves, for people who look for what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import redis
from celery import Celery
from celery.app import app_or_default
from kombu.exceptions import KombuError

from routines_app.coordination.broker import BrokerAway
from routines_app.coordination.broker_connection import close_broken, is_missing, open_connection, root_of
from routines_app.coordination.redis_client import asking
from routines_app.masks import masked_line

SECONDS = 2.0  # as a beat waits


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisFacts:
    """A Redis, as far as it tells: who may not ask finds empty words."""

    version: str = ""
    run_id: str = ""
    """Another one after each start; no two servers have the same."""
    database: int = 0
    policy: str = ""
    """What it does when its memory is full: `noeviction`, `allkeys-lru` …"""
    limit_bytes: int = 0
    """Its `maxmemory`; 0: none."""

    @property
    def server(self) -> str:
        return f"Redis {self.version}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    kind: str
    """`redis`, `amqp` …"""
    server: str
    """Its name and version, as far as it tells."""
    redis: RedisFacts | None = None
    consumers: dict[str, int] = field(default_factory=dict)
    """How many consumers each queue has, where the broker knows: RabbitMQ does."""


def redis_of_leases() -> RedisFacts:
    """Of the Redis that leases and wake-ups are in, or raises `RedisAway`."""
    with asking() as client:
        client.ping()
        return _facts_of(client)


def ask_broker(queues: Iterable[str] = (), app: Celery | None = None) -> BrokerFacts:
    """Connect, and ask; or raise `BrokerAway`."""
    connection: Any = open_connection(app_or_default(app), SECONDS)
    try:
        return _asked(connection, queues)
    except (*connection.connection_errors, *connection.channel_errors, KombuError, OSError) as error:
        error = root_of(error)
        raise BrokerAway(masked_line(str(error) or type(error).__name__)) from error
    finally:
        close_broken(connection)


def _asked(connection: Any, queues: Iterable[str]) -> BrokerFacts:
    channel: Any = connection.default_channel
    kind = str(connection.transport.driver_type)
    if kind == "redis":
        channel.client.ping()
        facts = _facts_of(channel.client)
        return BrokerFacts(kind=kind, server=facts.server, redis=facts)
    said = getattr(connection.connection, "server_properties", None) or {}
    server = f"{said.get('product', kind)} {said.get('version', '')}".strip()
    if kind != "amqp":
        return BrokerFacts(kind=kind, server=server)
    return BrokerFacts(kind=kind, server=server, consumers={name: _consumers(connection, name) for name in queues})


def _consumers(connection: Any, queue: str) -> int:
    """AMQP closes the channel on which a queue is not found."""
    channel = connection.channel()
    try:
        return int(channel.queue_declare(queue=queue, passive=True).consumer_count)
    except connection.channel_errors as error:
        if not is_missing(error):
            raise
        return 0
    finally:
        channel.close()


def _facts_of(client: Any) -> RedisFacts:
    database = int(client.connection_pool.connection_kwargs.get("db") or 0)
    try:
        info = client.info()
    except redis.ResponseError:  # some may not ask that
        return RedisFacts(database=database)
    return RedisFacts(
        version=str(info.get("redis_version", "")),
        run_id=str(info.get("run_id", "")),
        database=database,
        policy=str(info.get("maxmemory_policy", "")),
        limit_bytes=int(info.get("maxmemory", 0)),
    )
