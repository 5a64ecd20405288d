"""Room in a pool: who of those that wait goes next. The one decision for everything that enters a pool.

A ceiling is hard, so room is counted by whoever holds the pool's lock; what is decided with the count is decided here.
The pools act on it (`publish/pools.py`), and the plan of leases shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from routines_app.core.admission import Hold, Publish
from routines_app.core.ranking import RankKey, Waiting, rank_key
from routines_app.core.words import Priority, Reason


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
    pool_id: int | None
    requested_at: datetime | None
    """When somebody asked for it by hand."""
    eligible_at: datetime
    priority: str
    emphasis: float
    depth: int
    last_success_at: datetime | None
    """Of its routine; None: it never succeeded."""
    least_depth: int | None = None
    """Of all that wait in its pool, where these are not all of them; None: of these."""


class Placed(NamedTuple):
    """A run in the order in which room is given, and what it gets."""

    run: Queued
    override: bool
    """It goes before all that nobody asked for. Of several requests for one routine only the first does."""
    decision: Publish | Hold
    """It goes now, or waits for room (`ceiling`)."""


def share_room(
    pools: Mapping[int, PoolUsage], queue: Sequence[Queued], now: datetime, *, depth_weight: float
) -> list[Placed]:
    """The whole queue in the order of its rank, each run with its decision: as many of a pool go as it has room for.

    Runs without a pool, or of one that is not given, have no ceiling.
    """
    overrides = _overrides(queue)
    room = {pool_id: pool.room for pool_id, pool in pools.items()}
    taken: Counter[int | None] = Counter()
    placed: list[Placed] = []
    for run in _in_order(queue, overrides, now, depth_weight):
        taken[run.pool_id] += 1
        full = run.pool_id is not None and taken[run.pool_id] > room.get(run.pool_id, len(queue))
        placed.append(Placed(run, run.id in overrides, Hold(Reason.CEILING) if full else Publish()))
    return placed


def take_room(pool: PoolUsage, queue: Sequence[Queued], now: datetime, *, depth_weight: float) -> list[UUID]:
    """Those of one pool's queue that go now, in the order of their rank: as many as there is room for."""
    pools = {run.pool_id: pool for run in queue if run.pool_id is not None}
    placed = share_room(pools, queue, now, depth_weight=depth_weight)
    return [each.run.id for each in placed if each.decision == Publish()]


def need_not_queue(pool: PoolUsage, wanted: int, *, others_wait: bool) -> bool:
    """Whether so many new runs may go at once: there is room for all of them, and they go before nobody."""
    return not others_wait and wanted <= pool.room


def _overrides(queue: Sequence[Queued]) -> set[UUID]:
    """A routine jumps its pool's queue at most once, however often it is asked for."""
    first: dict[tuple[int, int | None], tuple[datetime, UUID]] = {}
    for run in queue:
        if run.requested_at is not None:
            asked = (run.requested_at, run.id)
            whose = (run.routine_id, run.pool_id)
            first[whose] = min(first.get(whose, asked), asked)
    return {run_id for _, run_id in first.values()}


def _in_order(queue: Sequence[Queued], overrides: set[UUID], now: datetime, depth_weight: float) -> list[Queued]:
    least: dict[int | None, int] = {}
    for run in queue:
        depth = run.depth if run.least_depth is None else run.least_depth
        least[run.pool_id] = min(least.get(run.pool_id, depth), depth)

    def key(run: Queued) -> RankKey:
        return rank_key(
            Waiting(
                id=str(run.id),
                override_at=run.requested_at if run.id in overrides else None,
                priority=Priority(run.priority),
                stale_seconds=None if run.last_success_at is None else (now - run.last_success_at).total_seconds(),
                depth=run.depth,
                least_depth=least[run.pool_id],
                emphasis=run.emphasis,
                eligible_at=run.eligible_at,
                depth_weight=depth_weight,
            )
        )

    return sorted(queue, key=key)
