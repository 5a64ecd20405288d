"""The queue: what runs now, and what waits, in the order in which it goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber, Substr

from routines_app.core.room import PoolUsage
from routines_app.core.words import ConcurrencyPolicy, Priority, Reason, RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.end.line import IN_TURN
from routines_app.protocol.end.overlap import IN_THE_WAY
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.publish.pools import waits_for_room
from routines_app.protocol.publish.ranked import in_rank_order
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.rules import Integer
from routines_app.verbs.list_pools import PoolCounts, pool_counts
from routines_app.verbs.waits_for import BEHIND, Blocker, Waiter, reason_of, why

LIMIT = Integer(least=1, most=10_000)
LONGEST_ERROR = 500  # of why a run could not be sent
TIMES = (
    "requested_at",
    "scheduled_for",
    "eligible_at",
    "admitted_at",
    "dispatched_at",
    "publish_after",
    "routine__paused_until",
    "routine__state__last_success_at",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningRun:
    """A run whose body is at work."""

    run_id: UUID
    routine_id: int
    name: str
    """The routine's."""
    pool: str | None
    since: datetime | None
    worker: str
    overdue: bool
    """It was to stop and cannot be stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedRun:
    """A run that has not begun."""

    run_id: UUID
    routine_id: int
    name: str
    """The routine's."""
    pool: str | None
    position: int
    """From 1: overrides first, then everything else."""
    band: Priority
    stale_seconds: float | None
    """Since the routine's last success; None: it never succeeded."""
    since: datetime
    """When its time came, or comes."""
    reason: Reason
    """What it waits for."""
    why: str
    """The same as a sentence."""
    requested_by: str
    requested_at: datetime | None
    """When somebody asked for it by hand; its retries have that too."""
    trigger: str
    slot: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    """What runs and what waits at one moment."""

    at: datetime
    running: tuple[RunningRun, ...]
    """The longest running first."""
    overrides: tuple[QueuedRun, ...]
    """What somebody asked for, in the order of the requests: of each routine and pool the first that is on its way, the
    first that waits for room and the first that something else holds. Further ones are among the automatic ones."""
    automatic: tuple[QueuedRun, ...]
    """Everything else: what is on its way, then what waits for room, then what something else holds, each by rank."""
    waiting: int
    """How many runs have not begun, shown or not."""
    truncated: bool
    """There is more than is shown."""


def queue(pool: Pool | int | str | None = None, *, limit: int = 200) -> Queue:
    """What runs and waits in a pool, or in all and outside of any; of each at most `limit`.

    Reads only, in six questions however much waits, or in one more. What cannot be read is counted and not shown.
    """
    limit = LIMIT("limit", limit)
    only = None if pool is None else find_pool(pool)
    now = clock.now()
    runs = RoutineRun.objects.using(ledger_alias())
    if only is not None:
        runs = runs.filter(pool_id=only.pk)
    counts = pool_counts(only)
    running = _running(runs, limit + 1)
    rows = _waiting(runs, limit, now, counts)
    queued = _explained(rows, counts, now)
    waiting = sum(count.pending for count in counts.values())
    return Queue(
        at=now,
        running=running[:limit],
        overrides=tuple(run for row, run in zip(rows, queued, strict=True) if row.override),
        automatic=tuple(run for row, run in zip(rows, queued, strict=True) if not row.override),
        waiting=waiting,
        truncated=len(running) > limit or waiting > len(rows),
    )


def _running(runs: QuerySet[RoutineRun], limit: int) -> tuple[RunningRun, ...]:
    longest_first = runs.filter(readable("started_at"), status=RunStatus.RUNNING).order_by("started_at", "id")
    columns = ("id", "routine_id", "routine__name", "pool__name", "started_at", "worker", "reason")
    return tuple(
        RunningRun(
            run_id=run_id,
            routine_id=routine_id,
            name=name,
            pool=pool,
            since=since,
            worker=worker,
            overdue=reason == Reason.OVERDUE,
        )
        for run_id, routine_id, name, pool, since, worker, reason in longest_first.values_list(*columns)[:limit]
    )


class _Row(NamedTuple):
    """A run that has not begun, with its routine and its pool."""

    id: UUID
    routine_id: int
    pool_id: int | None
    override: bool
    reason: str
    trigger: str
    queue: str
    attempt: int
    requested_by: str
    requested_at: datetime | None
    scheduled_for: datetime
    eligible_at: datetime
    admitted_at: datetime | None
    dispatched_at: datetime | None
    publish_after: datetime | None
    said: str
    routine__name: str
    routine__priority: str
    routine__status: str
    routine__paused_until: datetime | None
    routine__pause_reason: str
    routine__state__last_success_at: datetime | None
    pool__name: str | None
    pool__max_concurrent: int | None


_ON_ITS_WAY = Q(admitted_at__isnull=False) | Q(dispatched_at__isnull=False)


def _waiting(
    runs: QuerySet[RoutineRun], limit: int, now: datetime, counts: Mapping[int | None, PoolCounts]
) -> list[_Row]:
    """The first of what waits. What was asked for and what is on its way come before all else: where these are enough,
    the thousands behind them are not ranked."""
    pending = runs.filter(readable(*TIMES), status=RunStatus.PENDING)
    if sum(count.pending - count.waiting for count in counts.values()) >= limit:
        first = _ranked(pending.filter(_ON_ITS_WAY | Q(requested_at__isnull=False)), limit, now)
        if len(first) == limit and all(row.override or row.admitted_at or row.dispatched_at for row in first):
            return first  # else some have begun since they were counted
    return _ranked(pending, limit, now)


def _ranked(pending: QuerySet[RoutineRun], limit: int, now: datetime) -> list[_Row]:
    stage = Case(
        When(_ON_ITS_WAY, then=Value(0)),
        When(waits_for_room(now), then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    staged = pending.annotate(stage=stage, said=Substr("error", 1, LONGEST_ERROR))
    ranked = in_rank_order(staged, now, stage="stage")
    return [_Row._make(row) for row in ranked.values_list(*_Row._fields)[:limit]]


def _explained(rows: Sequence[_Row], counts: Mapping[int | None, PoolCounts], now: datetime) -> list[QueuedRun]:
    waiters = [_waiter(row, counts) for row in rows]
    reasons = [reason_of(waiter, now) for waiter in waiters]
    pairs = zip(rows, reasons, strict=True)
    blockers = _blockers({row.routine_id for row, reason in pairs if reason in BEHIND})
    queued = []
    for position, (row, waiter, reason) in enumerate(zip(rows, waiters, reasons, strict=True), start=1):
        blocker = blockers.get(row.routine_id)
        if blocker and (blocker.run_id == row.id or (blocker.in_line and reason is not Reason.OVERLAP)):
            blocker = None  # it is the first itself, or waits for one that was sent
        queued.append(_queued(row, position, reason, why(waiter, blocker, now), now))
    return queued


def _waiter(row: _Row, counts: Mapping[int | None, PoolCounts]) -> Waiter:
    usage = None
    if row.pool__max_concurrent is not None:
        in_flight = counts[row.pool_id].in_flight if row.pool_id in counts else 0
        usage = PoolUsage(ceiling=row.pool__max_concurrent, in_flight=in_flight)
    return Waiter(
        reason=row.reason,
        routine_status=row.routine__status,
        paused_until=row.routine__paused_until,
        pause_reason=row.routine__pause_reason,
        pool=row.pool__name,
        usage=usage,
        queue=row.queue,
        attempt=row.attempt,
        requested_at=row.requested_at,
        eligible_at=row.eligible_at,
        admitted_at=row.admitted_at,
        dispatched_at=row.dispatched_at,
        publish_after=row.publish_after,
        error=row.said,
    )


_IN_LINE = Q(status=RunStatus.PENDING, routine__concurrency_policy=ConcurrencyPolicy.QUEUE) & ~HELD_BY_STATUS
_WHICH_WAY = Case(When(status=RunStatus.RUNNING, then=0), When(IN_THE_WAY, then=1), default=2)


def _blockers(routine_ids: Collection[int]) -> dict[int, Blocker]:
    """Of each routine the run for which others wait: what runs, else what was sent, else (QUEUE) the first in line."""
    if not routine_ids:
        return {}
    ahead = RoutineRun.objects.using(ledger_alias()).filter(
        IN_THE_WAY | _IN_LINE, AnyOf("routine_id", routine_ids), readable("started_at", "stop_requested_at")
    )
    place = Window(RowNumber(), partition_by=F("routine_id"), order_by=[F("way"), *IN_TURN])
    first = ahead.annotate(way=_WHICH_WAY).annotate(place=place).filter(place=1).order_by("routine_id")
    columns = ("routine_id", "id", "status", "started_at", "stop_requested_at", "way")
    return {
        routine_id: Blocker(
            run_id=run_id, status=status, since=since, stop_requested=asked is not None, in_line=way == 2
        )
        for routine_id, run_id, status, since, asked, way in first.values_list(*columns)
    }


def _queued(row: _Row, position: int, reason: Reason, sentence: str, now: datetime) -> QueuedRun:
    succeeded = row.routine__state__last_success_at
    return QueuedRun(
        run_id=row.id,
        routine_id=row.routine_id,
        name=row.routine__name,
        pool=row.pool__name,
        position=position,
        band=Priority(row.routine__priority),
        stale_seconds=None if succeeded is None else max(0.0, (now - succeeded).total_seconds()),
        since=row.eligible_at,
        reason=reason,
        why=sentence,
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        trigger=row.trigger,
        slot=row.scheduled_for,
    )
