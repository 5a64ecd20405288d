"""Pools: what waits in a pool's queue goes out in rank order, up to the pool's ceiling.

A ceiling is counted under the pool's row lock, admitted PENDING plus RUNNING, so two beats never count the same room.
What is done with the room is decided in `core/room.py`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error, connections
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.room import PoolUsage, Queued, need_not_queue, take_room
from routines_app.core.transitions import ACTIVE
from routines_app.core.waits import MOMENT_WIDTH, stamp
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf, array_literal
from routines_app.protocol.ledger.database import fast_rows, is_postgresql, ledger_alias, sql
from routines_app.protocol.ledger.database_errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.default_pool import IN_FLIGHT_WITHOUT_A_POOL
from routines_app.protocol.ledger.locks import lock_free_pools, skipping_locked
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.publish.ranked import in_rank_order
from routines_app.protocol.publish.unreadable import find_unreadable
from routines_app.protocol.record.messages import BRIEF_SQL, messages_from, messages_of
from routines_app.protocol.record.waits import because

RANKED_AT_MOST = 5_000  # of one pool's queue, at one look: the first, by the same rank (`ranked.py`)
SPARE = 500  # of them, for those whose row somebody holds

_SHOWN = {name: BRIEF_SQL.format(f"coalesce(run.{name}, routine.{name})") for name in ("args", "kwargs")}

_said = SaidOnce(logging.getLogger(__name__))


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
    return (_admit_guarded(pool_id, now) for pool_id in sorted(pools))


def roomy_pools(wanted: Mapping[int, int], now: datetime) -> set[int]:
    """Those of the pools that so many new runs may enter without queueing. For a claim, in its transaction.

    The pools stay locked until its commit. Another database than PostgreSQL may count in a snapshot that is older than
    the lock, so there the runs queue.
    """
    if not wanted or not is_postgresql(ledger_alias()):
        return set()
    usage = _locked_usage(list(wanted))
    if not usage:
        return set()
    waiting = set(_queue(now).filter(AnyOf("pool_id", usage)).values_list("pool_id", flat=True).distinct())
    return {
        pool_id
        for pool_id, pool in usage.items()
        if need_not_queue(pool, wanted[pool_id], others_wait=pool_id in waiting)
    }


def _admit_guarded(pool_id: int, now: datetime) -> list[Message]:
    """One pool with a queue that cannot be read, or with a run that somebody holds, must not stop the others."""
    try:
        admitted = retrying_conflicts(lambda: _admit_pool(pool_id, now))
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        _said.warn(pool_id, f"pool {pool_id} lets nobody in for now: {error}")
        find_unreadable(list(_queue(now).filter(pool_id=pool_id).values_list("id", flat=True)[:RANKED_AT_MOST]), now)
        return []
    _said.over(pool_id)
    return admitted


def _admit_pool(pool_id: int, now: datetime) -> list[Message]:
    with bounded():
        # Whoever holds the lock is counting already, and will see what is here.
        pool = _locked_usage([pool_id]).get(pool_id)
        if pool is None or not pool.room:
            return []
        return _fill(pool, _first_in_queue(pool_id, pool.room, now), now)


def _fill(pool: PoolUsage, queue: list[Queued], now: datetime) -> list[Message]:
    """Let the first ones in. In the place of one that somebody else holds goes the next."""
    admitted: list[Message] = []
    while first := take_room(pool, queue, now, depth_weight=get_settings().depth_weight):
        entered = _let_through(first, now)
        admitted += entered
        if len(entered) == len(first):
            break
        pool, tried = replace(pool, in_flight=pool.in_flight + len(entered)), set(first)
        queue = [run for run in queue if run.id not in tried]
    return admitted


def _locked_usage(pool_ids: Sequence[int]) -> dict[int, PoolUsage]:
    """The pools that nobody else has locked, and how full they are."""
    pools = lock_free_pools(pool_ids)
    if not pools:
        return {}
    runs = RoutineRun.objects.using(ledger_alias())
    admitted = runs.filter(AnyOf("pool_id", pools), status__in=sorted(ACTIVE), admitted_at__isnull=False)
    in_flight = Counter(dict(admitted.values_list("pool_id").annotate(Count("pk")).order_by()))
    for pool_id, pool in pools.items():
        if pool.is_default:  # what is still being taken in has its place already
            in_flight[pool_id] += runs.filter(IN_FLIGHT_WITHOUT_A_POOL).count()
    return {pool_id: PoolUsage(ceiling=pool.ceiling, in_flight=in_flight[pool_id]) for pool_id, pool in pools.items()}


def waits_for_room(now: datetime) -> Q:
    """Held rows that nothing else holds: the queues of all pools."""
    return ~HELD_BY_STATUS & Q(
        pool__isnull=False,
        status=RunStatus.PENDING,
        admitted_at=None,
        publish_after=None,
        dispatched_at=None,
        eligible_at__lte=now,
    )


def _queue(now: datetime) -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(waits_for_room(now))


_COLUMNS = (
    "id",
    "routine_id",
    "pool_id",
    "requested_at",
    "eligible_at",
    "routine__priority",
    "routine__emphasis",
    "routine__depth",
    "routine__state__last_success_at",
    "least_depth",
)


def _first_in_queue(pool_id: int, room: int, now: datetime) -> list[Queued]:
    """As many as may go, and some more: for each that somebody else holds, another one goes."""
    waiting = in_rank_order(_queue(now).filter(pool_id=pool_id), now).values_list(*_COLUMNS)
    return [Queued._make(row) for row in fast_rows(waiting[: min(RANKED_AT_MOST, room + SPARE)])]


def _let_through(run_ids: Sequence[UUID], now: datetime) -> list[Message]:
    """Admit them, in this order."""
    if not run_ids:
        return []
    alias = ledger_alias()
    publish_after = now + timedelta(seconds=get_settings().publish_retry_seconds)
    admit = _admit_in_one_statement if is_postgresql(alias) else _admit_portably
    by_id = {message.run_id: message for message in admit(alias, run_ids, now, publish_after)}
    return [by_id[str(run_id)] for run_id in run_ids if str(run_id) in by_id]


def _admit_in_one_statement(
    alias: str, run_ids: Sequence[UUID], now: datetime, publish_after: datetime
) -> list[Message]:
    with connections[alias].cursor() as cursor:
        statement = sql("publish/admit_runs").format(**_SHOWN)
        cursor.execute(statement, [array_literal(run_ids), now, publish_after, MOMENT_WIDTH, stamp(now)])
        return messages_from(cursor.fetchall())


def _admit_portably(alias: str, run_ids: Sequence[UUID], now: datetime, publish_after: datetime) -> list[Message]:
    runs = RoutineRun.objects.using(alias)
    held = runs.filter(status=RunStatus.PENDING, admitted_at=None)
    free = skipping_locked(held.filter(AnyOf("id", run_ids)).order_by("id"), keys=False)
    ids = list(free.values_list("id", flat=True))
    held.filter(id__in=ids).update(**because(Reason.NONE, now), admitted_at=now, publish_after=publish_after)
    return messages_of(runs.filter(id__in=ids))
