"""Active runs that belong to no pool although there is a default pool.

They were written before it was one, or at that moment. Whoever makes a pool the default takes the first of them in, the
beats the others: however many there are, no request waits for all of them. What somebody holds is left for the next
look.
"""

from __future__ import annotations

from django.db.models.functions import Coalesce

from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import free_keys, lock_free_runs, update_locked
from routines_app.protocol.ledger.timeouts import bounded

TAKEN_AT_ONCE = 1_000


def take_unpooled() -> int:
    """Take one batch of them into the default pool, if there is one; how many."""
    default = Pool.objects.using(ledger_alias()).filter(is_default=True)
    with bounded():
        found = default.values_list("pk", flat=True).first()
        return 0 if found is None or not free_keys(Pool, [found]) else take_into(found)


def take_into(pool_id: int) -> int:
    """Take the oldest active runs without a pool into this one; how many. The caller holds the pool, or its key.

    What was sent or runs has a place from now on, also beyond the ceiling; what waits will wait for room.
    """
    unpooled = RoutineRun.objects.using(ledger_alias()).filter(status__in=sorted(ACTIVE), pool=None)
    let_through = Coalesce("admitted_at", "dispatched_at", "started_at")
    return update_locked(lock_free_runs(unpooled, TAKEN_AT_ONCE), pool_id=pool_id, admitted_at=let_through)
