"""A rotation in thought: every decision is the core's, and whom a tick reads is what the protocol's index reads.

Members are owed, fresh, failed or in flight; their attempts take as long, and end, as the caller says.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from routines_app.core.rotation import (
    AWAKE,
    NEVER,
    Attempt,
    Idle,
    Owed,
    idle_after,
    pick,
    progress_of,
    rank_phase,
    room,
)
from routines_app.core.words import MemberStatus, RunStatus

Kind = tuple[int, int, int, float]
PROMOTED_AT_ONCE = 1_000


@dataclass(slots=True)
class Thing:
    """A member, as far as its cycle goes."""

    id: int
    phases: int = 1
    band: int = 1
    depth: int = 0
    emphasis: float = 1.0
    phase: int = 0
    failures: int = 0
    attempted_at: datetime = NEVER
    stale_since: datetime | None = None
    """The end of its last whole cycle; None: since the beginning."""
    failed: list[tuple[int, int]] = field(default_factory=list)
    """The failures of this cycle: the phase, and how many they were then in a row."""

    @property
    def rank_phase(self) -> int:
        return rank_phase(self.phase, self.failures)

    @property
    def kind(self) -> Kind:
        return self.rank_phase, self.band, self.depth, self.emphasis

    @property
    def owed(self) -> Owed:
        return Owed(
            id=self.id,
            phase=self.rank_phase,
            band=self.band,
            depth=self.depth,
            emphasis=self.emphasis,
            attempted_at=self.attempted_at,
        )


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick came to."""

    number: int
    what: str
    picks: list[tuple[int, int]] = field(default_factory=list)
    """Members and their phases, in the order of rank."""
    last: int = 0
    """The phase that the last of them ranks by."""
    left: int = 0
    """How many stayed owed."""
    left_phase: int = -1
    """The furthest phase that one of those ranks by."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A member's way from one whole cycle to the end of the next."""

    id: int
    since: datetime | None
    until: datetime
    failed: list[tuple[int, int]]


End = Callable[[Thing, datetime], tuple[datetime, RunStatus]]
"""When an attempt that begins now ends, and how."""


class Rotating:
    """One rotation and its members."""

    def __init__(
        self,
        things: list[Thing],
        *,
        budget: int,
        max_in_flight: int | None = None,
        fresh_for: timedelta = timedelta(0),
        depth_weight: float = 0.5,
        end: End,
    ) -> None:
        self.things = {thing.id: thing for thing in things}
        self.budget = budget
        self.max_in_flight = max_in_flight or budget
        self.fresh_for = fresh_for
        self.depth_weight = depth_weight
        self.idle = AWAKE
        self.ticks = 0
        self.cycles: list[Cycle] = []
        self._end = end
        self._owed: dict[Kind, list[tuple[datetime, int]]] = {}
        self._fresh: list[tuple[datetime, int]] = []
        self._failed: list[tuple[int, int]] = []
        self._in_flight: list[tuple[datetime, int, RunStatus]] = []
        for thing in things:
            self._owe(thing)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def tick(self, now: datetime) -> Ticked:
        self._settle(now)
        self.ticks += 1
        if self.idle.skip_ticks:
            self.idle = Idle(self.idle.multiplier, self.idle.skip_ticks - 1)
            return Ticked(self.ticks, "idle")
        self._promote(now)
        most = room(budget=self.budget, max_in_flight=self.max_in_flight, in_flight=self.in_flight)
        if most == 0:
            return Ticked(self.ticks, "full")
        heads = self._heads(most)
        chosen = pick(heads, most, now, self.depth_weight)
        if not chosen:
            self.idle = idle_after(self.idle.multiplier)
            return Ticked(self.ticks, "idle")
        self._fire(chosen, heads, now)
        left = [kind for kind, waiting in self._owed.items() if waiting]
        return Ticked(
            self.ticks,
            "picked",
            [(member.id, self.things[member.id].phase) for member in chosen],
            last=chosen[-1].phase,
            left=sum(len(self._owed[kind]) for kind in left),
            left_phase=max((kind[0] for kind in left), default=-1),
        )

    def _settle(self, now: datetime) -> None:
        while self._in_flight and self._in_flight[0][0] <= now:
            ended_at, thing_id, status = heapq.heappop(self._in_flight)
            self._judge(self.things[thing_id], status, ended_at)

    def _judge(self, thing: Thing, status: RunStatus, now: datetime) -> None:
        progress = progress_of(
            Attempt(
                status=status,
                phase=thing.phase,
                phases=thing.phases,
                failures=thing.failures,
                ticks=self.ticks,
                fresh_for=self.fresh_for,
                now=now,
            )
        )
        if progress.status is MemberStatus.FAILED:
            thing.failed.append((thing.phase, progress.failures))
        thing.phase, thing.failures, thing.attempted_at = progress.phase, progress.failures, now
        if progress.cycle_ended:
            self.cycles.append(Cycle(thing.id, thing.stale_since, now, thing.failed))
            thing.stale_since, thing.failed = now, []
        if progress.status is MemberStatus.FRESH and progress.due_at is not None:
            heapq.heappush(self._fresh, (progress.due_at, thing.id))
        elif progress.status is MemberStatus.FAILED and progress.retry_tick is not None:
            heapq.heappush(self._failed, (progress.retry_tick, thing.id))
        else:
            self._owe(thing)
        if status is RunStatus.SUCCESS:
            self.idle = AWAKE

    def _promote(self, now: datetime) -> None:
        most = max(PROMOTED_AT_ONCE, self.budget)
        due = [heapq.heappop(self._fresh)[1] for _ in range(most) if self._fresh and self._fresh[0][0] <= now]
        again = [
            heapq.heappop(self._failed)[1] for _ in range(most) if self._failed and self._failed[0][0] <= self.ticks
        ]
        for thing_id in due + again:
            self._owe(self.things[thing_id])

    def _owe(self, thing: Thing) -> None:
        heapq.heappush(self._owed.setdefault(thing.kind, []), (thing.attempted_at, thing.id))

    def _heads(self, most: int) -> list[Owed]:
        """Of each kind those that were tried longest ago: the index reads no others either. They are taken away."""
        return [
            self.things[heapq.heappop(waiting)[1]].owed
            for waiting in self._owed.values()
            for _ in range(min(most, len(waiting)))
        ]

    def _fire(self, chosen: list[Owed], heads: list[Owed], now: datetime) -> None:
        for member in chosen:
            ended_at, status = self._end(self.things[member.id], now)
            heapq.heappush(self._in_flight, (ended_at, member.id, status))
        fired = {member.id for member in chosen}
        for member in heads:
            if member.id not in fired:
                self._owe(self.things[member.id])
