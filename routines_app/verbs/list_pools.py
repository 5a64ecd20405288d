"""Reading the pools, and how full they are."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Count, Q

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import IN_FLIGHT_WITHOUT_A_POOL, pool_or_default
from routines_app.verbs.checking.rules import Integer

LIMIT = Integer(least=1, most=10_000)


class PoolCounts(NamedTuple):
    """A pool's active runs."""

    in_flight: int
    """Let through and not ended."""
    waiting: int
    """Not let through yet, whatever holds them."""
    pending: int
    """Not begun, let through or not."""


def list_pools(limit: int = 100) -> list[Pool]:
    """The pools by name, each with its use: how many of its runs are `in_flight`, how many `waiting`."""
    pools = list(Pool.objects.using(ledger_alias()).order_by("name")[: LIMIT("limit", limit)])
    counts = pool_counts()  # asked for no pools as well: pages ask a fixed number of questions
    for pool in pools:
        pool.in_flight, pool.waiting, _ = counts.get(pool.pk, PoolCounts(0, 0, 0))
    return pools


def pool_counts(only: Pool | None = None) -> dict[int | None, PoolCounts]:
    """The active runs of each pool, or of one, counted in one query; under None those that belong to no pool.

    As its ceiling is counted (`publish/pools`): to the default pool belongs also what is still to be taken in.
    """
    active = RoutineRun.objects.using(ledger_alias()).filter(status__in=sorted(ACTIVE))
    if only is not None:
        active = active.filter(Q(pool=only) | Q(pool=None) if only.is_default else Q(pool=only))
    pending, let_through = Q(status=RunStatus.PENDING), Q(admitted_at__isnull=False) | IN_FLIGHT_WITHOUT_A_POOL
    counted = (
        active.order_by()
        .values_list(pool_or_default("pool_id"))
        .annotate(
            in_flight=Count("pk", filter=let_through),
            waiting=Count("pk", filter=pending & ~let_through),
            pending=Count("pk", filter=pending),
        )
    )
    return {pool_id: PoolCounts(*counts) for pool_id, *counts in counted}
