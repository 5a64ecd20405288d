"""The default pool: whose ceiling a run counts against when its routine names no pool.

At most one pool is it, and by default none. Statements ask for it in passing, `COALESCE(pool_id, (SELECT …))`: where
nobody has made a pool the default, that costs a look into an empty index.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import keep_keys, lock_free_runs, update_locked

DEFAULT_POOL_SQL = "(SELECT id FROM routines_pool WHERE is_default)"

IN_FLIGHT_WITHOUT_A_POOL = Q(status__in=sorted(ACTIVE), pool=None) & (
    Q(admitted_at__isnull=False) | Q(dispatched_at__isnull=False) | Q(started_at__isnull=False)
)
"""Runs that count against the default pool, if there is one, before they are taken in."""


def pool_or_default(column: str) -> Coalesce:
    """The pool that the column names, or else the default pool."""
    return Coalesce(column, Subquery(Pool.objects.filter(is_default=True).values("pk")[:1]))


def pool_of(routine: Routine) -> int | None:
    """The pool that a new run of the routine belongs to. Asked in the transaction that writes it: the pool stays.

    A default pool that somebody deletes at this moment is none; if there is another, `upkeep/unpooled` finds the run.
    """
    if routine.pool_id is not None:
        return routine.pool_id
    default = Pool.objects.using(ledger_alias()).filter(is_default=True)
    found = default.values_list("pk", flat=True).first()
    return found if found is not None and keep_keys(Pool, [found]) else None


def take_in(pool_id: int, runs: QuerySet[RoutineRun], most: int | None = None) -> int:
    """Take those of the active runs without a pool into this one that nobody holds, the oldest; how many.

    What was sent or runs has a place from now on, also beyond the ceiling; what waits will wait for room. The caller
    holds the pool, or its key: in the order of locks it comes before runs.
    """
    outside = runs.filter(status__in=sorted(ACTIVE), pool=None)
    let_through = Coalesce("admitted_at", "dispatched_at", "started_at")
    return update_locked(lock_free_runs(outside, most), pool_id=pool_id, admitted_at=let_through)
