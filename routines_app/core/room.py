"""Room in a pool: who of those that wait goes next. The one decision for everything that enters a pool.

A ceiling is hard, so room is counted by whoever holds the pool's lock; what is decided with the count is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from typing import NamedTuple
from uuid import UUID

from routines_app.core.ranking import Waiting, rank_key
from routines_app.core.words import Priority, RunTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    """A pool as it was counted under its lock."""

    ceiling: int
    in_flight: int
    """Runs that were let through and have not ended."""

    @property
    def room(self) -> int:
        return max(0, self.ceiling - self.in_flight)


class Queued(NamedTuple):
    """A run that waits for nothing but room, and what ranks it."""

    id: UUID
    routine_id: int
    trigger: str
    eligible_at: datetime
    priority: str
    emphasis: float
    depth: int
    created_at: datetime
    last_success_at: datetime | None


def take_room(pool: PoolUsage, queue: Sequence[Queued], now: datetime, *, depth_weight: float) -> list[UUID]:
    """Those of the queue that go now, in the order of their rank: as many as there is room for."""
    keyed = zip((rank_key(waiting) for waiting in _ranked(queue, now, depth_weight)), queue, strict=True)
    return [run.id for _, run in nsmallest(pool.room, keyed, key=lambda pair: pair[0])]


def need_not_queue(pool: PoolUsage, wanted: int, *, others_wait: bool) -> bool:
    """Whether so many new runs may go at once: there is room for all of them, and they go before nobody."""
    return not others_wait and wanted <= pool.room


def _ranked(queue: Sequence[Queued], now: datetime, depth_weight: float) -> Iterator[Waiting]:
    max_depth = max((run.depth for run in queue), default=0)
    overridden: set[int] = set()
    for run in queue:
        # A routine jumps the queue at most once, however often it is asked for.
        override = run.trigger == RunTrigger.MANUAL and run.routine_id not in overridden
        if override:
            overridden.add(run.routine_id)
        yield Waiting(
            id=str(run.id),
            override_order=run.eligible_at.timestamp() if override else None,
            priority=Priority(run.priority),
            stale_seconds=(now - (run.last_success_at or run.created_at)).total_seconds(),
            depth=run.depth,
            max_depth=max_depth,
            emphasis=run.emphasis,
            eligible_at=run.eligible_at,
            depth_weight=depth_weight,
        )
