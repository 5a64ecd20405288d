"""The agenda: what will fire within the next hours, how much at once, and where that is more than a pool lets through.

Fires are computed one by one, as the governor plans them, in the order of time and up to a limit. Small fleets are
within it. Of large ones the list and the pools reach as far as the limit does, and the load beyond that is counted by
schedules, as `fires_per_hour` counts: routines with the same schedule once.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet

from routines_app.core.crowding import Occupation, peaks
from routines_app.models import Pool, Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.rules import DAY, SECOND, Duration, Integer, moment
from routines_app.verbs.checking.selecting import LABEL, in_pool, tagged
from routines_app.verbs.plan import PlannedFire, due_until, first_fires, in_order
from routines_app.verbs.upcoming import count_by_schedule
from routines_app.verbs.usual import usual_seconds

HORIZON = Duration(least=60 * SECOND, most=DAY)
LIMIT = Integer(least=1, most=10_000)
COMPUTED = 300  # fires, and routines that are read for them, unless more are asked for: some 60 ms
ROUTINES_MEASURED = 100  # whose usual duration is asked for; those that fire most
POOLS = 100  # that are told about; those with the most fires
STEPS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15))
MOST_STEPS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How many fires a step of the agenda holds; `is_estimate` where schedules were counted and not fires."""

    begin: datetime
    fires: float
    is_estimate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolForecast:
    """What a pool is expected to be asked for: an estimate from the usual durations of its routines' last runs."""

    name: str
    max_concurrent: int
    fires: int
    peaks: tuple[int, ...]
    """For each step the most runs that would be under way together, if none had to wait."""
    crowded: tuple[datetime, ...]
    """The steps in which that is more than its ceiling."""
    unmeasured: int
    """Routines whose usual duration is not known: their runs are taken to last no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """The coming fires of many routines, seen at `now`."""

    now: datetime
    until: datetime
    step: timedelta
    load: tuple[Load, ...]
    fires: tuple[PlannedFire, ...]
    """The first ones, as many as were asked for."""
    more: bool
    """There are others before `until`."""
    reaches: datetime
    """How far fires were computed one by one: `until`, or less of a fleet with more than 300 of them."""
    pools: tuple[PoolForecast, ...]
    """Those with fires until `reaches`, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """Which routines the agenda is about; what is None chooses nothing."""

    pool: Pool | None
    tag: str | None
    queue: str | None

    def of(self, routines: QuerySet[Routine]) -> QuerySet[Routine]:
        found = routines if self.pool is None else routines.filter(in_pool(self.pool))
        found = found if self.queue is None else found.filter(queue=self.queue)
        return found if self.tag is None else tagged(found, self.tag)

    @property
    def is_all(self) -> bool:
        return self.pool is None and self.tag is None and self.queue is None

    @property
    def name(self) -> str:
        """The same for all who choose the same, and fit for the key of a cache."""
        said = repr((self.pool and self.pool.pk, self.tag, self.queue))
        return "all" if self.is_all else hashlib.sha256(said.encode()).hexdigest()[:32]


def agenda(
    *,
    now: datetime | None = None,
    horizon: Any = "1h",
    pool: Pool | int | str | None = None,
    tag: str | None = None,
    queue: str | None = None,
    limit: int = 100,
) -> Agenda:
    """The fires until `horizon` (at most a day) of all routines, or of those of a pool, with a tag, on a queue.

    With the load per minute (5 or 15 minutes of a longer one), and for each pool the runs that would be under way
    together. It is what is planned now: failures, edits and hints will change it, and rotations choose their members
    when they tick.
    """
    now = clock.now() if now is None else moment("now", now)
    until = now + timedelta(milliseconds=HORIZON("horizon", horizon))
    limit = LIMIT("limit", limit)
    chosen = _Chosen(
        pool=None if pool is None else find_pool(pool),
        tag=None if tag is None else LABEL("tag", tag),
        queue=None if queue is None else LABEL("queue", queue),
    )
    routines: dict[int, Routine] = {}
    computed = max(COMPUTED, limit)
    fires = first_fires(_noted(_states(chosen, until, computed + 1), routines), now, until, computed + 1)
    is_cut = bool(fires) and (len(fires) > computed or len(routines) > computed)
    edges = _edges(now, until)
    reaches = max(fires[-1].slot, now) if is_cut else until
    return Agenda(
        now=now,
        until=until,
        step=edges[1] - edges[0],
        load=_load(chosen, fires, edges, reaches if is_cut else None, now),
        fires=tuple(fires[:limit]),
        more=len(fires) > limit,
        reaches=reaches,
        pools=_forecasts(fires, routines, edges, now),
    )


def _states(chosen: _Chosen, until: datetime, most: int) -> Iterator[RoutineState]:
    states = due_until(until)
    if not chosen.is_all:
        states = states.filter(routine__in=chosen.of(Routine.objects.using(ledger_alias())))
    return islice(in_order(states, at_once=most), most)  # as many fire first; a million may do so at one moment


def _noted(states: Iterator[RoutineState], routines: dict[int, Routine]) -> Iterator[RoutineState]:
    """The same states; whose they are is remembered."""
    for state in states:
        routines[state.routine_id] = state.routine
        yield state


def _edges(now: datetime, until: datetime) -> list[datetime]:
    """Whole minutes, or whole 5 or 15 minutes, from the one in which `now` lies."""
    step = next((step for step in STEPS if (until - now) / step <= MOST_STEPS), STEPS[-1])
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = day + (now - day) // step * step
    return [first + place * step for place in range(-((first - until) // step) + 1)]


def _load(
    chosen: _Chosen, fires: Sequence[PlannedFire], edges: Sequence[datetime], cut: datetime | None, now: datetime
) -> tuple[Load, ...]:
    step = edges[1] - edges[0]
    counted = Counter(max((max(fire.slot, now) - edges[0]) // step, 0) for fire in fires)
    load = [Load(begin=begin, fires=counted[place]) for place, begin in enumerate(edges[:-1])]
    if cut is None:
        return tuple(load)
    by_schedule = _by_schedule(chosen, now.replace(second=0, microsecond=0), edges[0], step, len(load), ledger_alias())
    return tuple(
        one if one.begin + step <= cut else replace(one, fires=by_schedule[place], is_estimate=True)
        for place, one in enumerate(load)
    )


@lru_cache(maxsize=8)  # for the minute that it is asked about
def _by_schedule(
    chosen: _Chosen, minute: datetime, first: datetime, step: timedelta, count: int, using: str
) -> list[float]:
    routines = chosen.of(Routine.objects.using(using))
    return count_by_schedule(routines, minute, first=first, step=step, count=count, about=chosen.name)


def _forecasts(
    fires: Sequence[PlannedFire], routines: dict[int, Routine], edges: Sequence[datetime], now: datetime
) -> tuple[PoolForecast, ...]:
    running = [fire for fire in fires if not routines[fire.routine_id].shadow]  # those are recorded and not run
    pools, default = _pools({routines[fire.routine_id].pool_id for fire in running})
    of_each: dict[int, list[PlannedFire]] = defaultdict(list)
    for fire in running:
        pool_id = routines[fire.routine_id].pool_id or default
        if pool_id in pools:
            of_each[pool_id].append(fire)
    fullest = dict(sorted(of_each.items(), key=lambda each: -len(each[1]))[:POOLS])
    most = Counter(fire.routine_id for found in fullest.values() for fire in found).most_common(ROUTINES_MEASURED)
    usual = usual_seconds([routine_id for routine_id, _ in most])
    found = [_forecast(pools[pool_id], fires, routines, usual, edges, now) for pool_id, fires in fullest.items()]
    return tuple(sorted(found, key=lambda forecast: forecast.name))


def _pools(named: set[int | None]) -> tuple[dict[int, Pool], int | None]:
    """The pools that these routines name, and the default one's id."""
    ids = [pool_id for pool_id in named if pool_id is not None]
    pools = {pool.pk: pool for pool in Pool.objects.using(ledger_alias()).filter(Q(pk__in=ids) | Q(is_default=True))}
    return pools, next((pool.pk for pool in pools.values() if pool.is_default), None)


def _forecast(
    pool: Pool,
    fires: Sequence[PlannedFire],
    routines: dict[int, Routine],
    usual: dict[int, float],
    edges: Sequence[datetime],
    now: datetime,
) -> PoolForecast:
    occupations = []
    for fire in fires:
        begin, seconds = max(fire.slot, now), usual.get(fire.routine_id, 0.0)
        alone = fire.routine_id if routines[fire.routine_id].is_exclusive else None
        occupations.append(Occupation(begin, begin + timedelta(seconds=seconds), alone))
    most = peaks(occupations, edges)
    return PoolForecast(
        name=pool.name,
        max_concurrent=pool.max_concurrent,
        fires=len(fires),
        peaks=tuple(most),
        crowded=tuple(begin for begin, peak in zip(edges, most, strict=False) if peak > pool.max_concurrent),
        unmeasured=len({fire.routine_id for fire in fires} - usual.keys()),
    )
