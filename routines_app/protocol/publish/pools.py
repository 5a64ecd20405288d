"""Room in pools: what waits in a pool's queue goes out in rank order, up to the pool's ceiling.

A ceiling is counted under the pool's row lock, admitted PENDING plus RUNNING, so two beats never count the same room.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import NamedTuple
from uuid import UUID

from django.db import connections, transaction
from django.db.models import Case, Count, Exists, OuterRef, QuerySet, Value, When

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.ranking import BANDS, Waiting, rank_key
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Priority, Reason, RunStatus, RunTrigger
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.end.overlap import locked_in_order
from routines_app.protocol.ledger.arrays import AnyOf, array_literal
from routines_app.protocol.ledger.database import fast_rows, is_postgresql, ledger_alias, sql
from routines_app.protocol.ledger.timeouts import limit_waits
from routines_app.protocol.plan.pausing import HELD_BY_STATUS
from routines_app.protocol.record.messages import messages_from, messages_of

RANKED_AT_MOST = 5_000  # of one pool's queue, at one look


def admit_pools(now: datetime, only: Collection[UUID] | None = None) -> list[Message]:
    """Let through what the pools have room for; the messages to publish after the commit."""
    return [message for messages in admit_each_pool(now, only) for message in messages]


def admit_each_pool(now: datetime, only: Collection[UUID] | None = None) -> Iterator[list[Message]]:
    """The same, pool by pool: each is committed when its messages are returned."""
    queue = _queue(now)
    if only is not None:
        pools = set(queue.filter(id__in=only).values_list("pool_id", flat=True))
    else:
        waiting = queue.filter(pool_id=OuterRef("pk"))
        pools = set(Pool.objects.using(ledger_alias()).filter(Exists(waiting)).values_list("pk", flat=True))
    return (_admit_pool(pool_id, now) for pool_id in sorted(pools))


def roomy_pools(wanted: Mapping[int, int], now: datetime) -> set[int]:
    """Those of the pools that have room for so many new runs, with nobody waiting before them.

    For a claim, whose runs need not queue then. The pools stay locked until its commit; states are locked before pools,
    as nobody who holds a pool wants a state. Another database than PostgreSQL may count in a snapshot that is older
    than the lock, so there the runs queue.
    """
    alias = ledger_alias()
    if not wanted or not is_postgresql(alias):
        return set()
    pools = Pool.objects.using(alias).filter(AnyOf("pk", wanted)).order_by("pk")
    ceilings = dict(_locked(pools).values_list("pk", "max_concurrent"))
    if not ceilings:
        return set()
    waiting = set(_queue(now).filter(AnyOf("pool_id", ceilings)).values_list("pool_id", flat=True).distinct())
    runs = RoutineRun.objects.using(alias).filter(AnyOf("pool_id", ceilings), status__in=sorted(ACTIVE))
    admitted = runs.filter(admitted_at__isnull=False).values_list("pool_id")
    in_flight: dict[int, int] = dict(admitted.annotate(Count("pk")).order_by())
    return {
        pool_id
        for pool_id, ceiling in ceilings.items()
        if pool_id not in waiting and ceiling - in_flight.get(pool_id, 0) >= wanted[pool_id]
    }


def _admit_pool(pool_id: int, now: datetime) -> list[Message]:
    alias = ledger_alias()
    with transaction.atomic(using=alias):
        limit_waits(alias)
        # Whoever holds the lock is counting already, and will see what is here.
        pool = _locked(Pool.objects.using(alias).all()).filter(pk=pool_id).first()
        room = 0 if pool is None else pool.max_concurrent - _in_flight(pool_id)
        chosen = _first_in_rank(pool_id, room, now) if room > 0 else []
        return _let_through(chosen, now)


def _locked(pools: QuerySet[Pool]) -> QuerySet[Pool]:
    """Room is counted under this lock. One on the key would keep everybody from writing runs of the pool meanwhile."""
    features = connections[ledger_alias()].features
    return pools.select_for_update(
        skip_locked=features.has_select_for_update_skip_locked, no_key=features.has_select_for_no_key_update
    )


def _in_flight(pool_id: int) -> int:
    runs = RoutineRun.objects.using(ledger_alias())
    return runs.filter(pool_id=pool_id, status__in=sorted(ACTIVE), admitted_at__isnull=False).count()


def _queue(now: datetime) -> QuerySet[RoutineRun]:
    """What waits for room: held rows that nothing else holds."""
    return (
        RoutineRun.objects.using(ledger_alias())
        .filter(
            pool__isnull=False,
            status=RunStatus.PENDING,
            admitted_at=None,
            publish_after=None,
            dispatched_at=None,
            eligible_at__lte=now,
        )
        .exclude(HELD_BY_STATUS)
    )


class _Queued(NamedTuple):
    id: UUID
    routine_id: int
    trigger: str
    eligible_at: datetime
    priority: str
    emphasis: float
    depth: int
    created_at: datetime
    last_success_at: datetime | None


_COLUMNS = (
    "id",
    "routine_id",
    "trigger",
    "eligible_at",
    "routine__priority",
    "routine__emphasis",
    "routine__depth",
    "routine__created_at",
    "routine__state__last_success_at",
)


def _first_in_rank(pool_id: int, room: int, now: datetime) -> list[UUID]:
    # What was asked for by hand and higher bands first: of a queue beyond all bounds, the oldest of these are ranked.
    urgency = Case(
        When(trigger=RunTrigger.MANUAL, then=Value(-1)),
        *(When(routine__priority=priority, then=Value(band)) for priority, band in BANDS.items()),
        default=Value(len(BANDS)),
    )
    waiting = _queue(now).filter(pool_id=pool_id).order_by(urgency, "eligible_at").values_list(*_COLUMNS)
    rows = [_Queued._make(row) for row in fast_rows(waiting[:RANKED_AT_MOST])]
    keyed = ((rank_key(waiting), row.id) for waiting, row in zip(_ranked(rows, now), rows, strict=True))
    return [run_id for _, run_id in nsmallest(room, keyed)]


def _ranked(rows: list[_Queued], now: datetime) -> list[Waiting]:
    max_depth = max((row.depth for row in rows), default=0)
    overridden: set[int] = set()
    ranked = []
    for row in rows:
        # A routine jumps the queue at most once, however often it is asked for.
        override = row.trigger == RunTrigger.MANUAL and row.routine_id not in overridden
        if override:
            overridden.add(row.routine_id)
        ranked.append(
            Waiting(
                id=str(row.id),
                override_order=row.eligible_at.timestamp() if override else None,
                priority=Priority(row.priority),
                stale_seconds=(now - (row.last_success_at or row.created_at)).total_seconds(),
                depth=row.depth,
                max_depth=max_depth,
                emphasis=row.emphasis,
                eligible_at=row.eligible_at,
                depth_weight=get_settings().depth_weight,
            )
        )
    return ranked


def _let_through(run_ids: list[UUID], now: datetime) -> list[Message]:
    """Admit them, in this order."""
    if not run_ids:
        return []
    alias = ledger_alias()
    publish_after = now + timedelta(seconds=get_settings().publish_retry_seconds)
    if is_postgresql(alias):
        with connections[alias].cursor() as cursor:
            cursor.execute(sql("publish/admit_runs"), [array_literal(run_ids), now, publish_after])
            admitted = messages_from(cursor.fetchall())
    else:
        runs = RoutineRun.objects.using(alias)
        held = runs.filter(status=RunStatus.PENDING, admitted_at=None)
        ids = locked_in_order(held, run_ids)
        held.filter(id__in=ids).update(admitted_at=now, publish_after=publish_after, reason=Reason.NONE)
        admitted = messages_of(runs.filter(id__in=ids))
    by_id = {message.run_id: message for message in admitted}
    return [by_id[str(run_id)] for run_id in run_ids if str(run_id) in by_id]
