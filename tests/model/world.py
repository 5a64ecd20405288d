"""The world around the protocol: a clock that only moves when told, a broker and leases that live in memory.

Everything that touches the database is the real code. What the protocol asks of the outside is answered here, so that a
step can lose messages, flush leases or let an hour pass, and be repeated exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import redis

from routines_app.coordination import leases, wakeups
from routines_app.coordination.broker import BrokerAway, Refused
from routines_app.coordination.envelope import Message
from routines_app.core.jitter import jitter_ms
from routines_app.protocol.claim import new_runs
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish import outbox
from routines_app.protocol.upkeep import lost_messages

QUEUE = "celery"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """Time, broker and Redis."""

    def __init__(self) -> None:
        # Run ids carry the real time: the simulated one is ahead of it. On the hour, so that a failure repeats.
        self.now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        self.began = self.now
        self.queue: list[Message] = []
        self.broker_away = False
        self.leases: dict[int, tuple[str, datetime]] = {}
        self.redis_away = False

    @property
    def monotonic(self) -> float:
        return self.now.timestamp()

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def jitter(self, _: str, slot: datetime, most: int) -> int:
        """By the time since the beginning alone: what is repeated has other ids, and maybe another hour."""
        return jitter_ms("", NEW_YEAR + (slot - self.began), most)

    # The broker

    routes_by_arguments = False

    def publish(self, messages: Sequence[Message]) -> list[Refused]:
        if self.broker_away:
            raise BrokerAway("away")
        self.queue += messages
        return []

    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        if self.broker_away:
            raise BrokerAway("away")
        return {queue: len(self.queue) for queue in queues}

    def queue_of(self, task: str, queue: str, *_: object) -> str:
        return QUEUE

    # Leases

    def acquire(self, routine_id: int, token: str, seconds: float) -> bool:
        held = self.holder(routine_id)
        if held is not None and held[0] != token:
            return False
        self.leases[routine_id] = (token, self.now + timedelta(seconds=seconds))
        return True

    def release(self, routine_id: int, token: str, *, courtesy: bool = False) -> bool:
        held = self.holder(routine_id)
        if held is None or held[0] != token:
            return False
        del self.leases[routine_id]
        return True

    def holder(self, routine_id: int) -> tuple[str, float] | None:
        if self.redis_away:
            raise redis.ConnectionError("away")
        token, until = self.leases.get(routine_id, ("", self.now))
        return (token, (until - self.now).total_seconds()) if until > self.now else None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make the protocol live in this world."""
        with ExitStack() as patches:
            for target, name, value in (
                (clock, "now", lambda: self.now),
                (new_runs, "jitter_ms", self.jitter),
                (outbox, "broker", lambda: self),
                (lost_messages, "broker", lambda: self),
                (leases, "acquire", self.acquire),
                (leases, "renew", self.acquire),
                (leases, "release", self.release),
                (leases, "holder", self.holder),
                (wakeups, "_send", lambda channel, text: None),
            ):
                patches.enter_context(patch.object(target, name, value))
            yield
