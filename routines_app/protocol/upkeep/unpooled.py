"""Active runs that belong to no pool although there is a default pool.

They were written before it was one, or at that moment. Whoever makes a pool the default takes the first of them in, the
beats the others: however many there are, no request waits for all of them. What somebody holds is left for the next
look. What has not been let through is taken in at the latest when it is to be sent (`publish/waiting`).
"""

from __future__ import annotations

from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import take_in
from routines_app.protocol.ledger.locks import free_keys
from routines_app.protocol.ledger.timeouts import bounded

TAKEN_AT_ONCE = 1_000


def take_unpooled() -> int:
    """Take one batch of them into the default pool, if there is one; how many."""
    default = Pool.objects.using(ledger_alias()).filter(is_default=True)
    with bounded():
        found = default.values_list("pk", flat=True).first()
        return 0 if found is None or not free_keys(Pool, [found]) else take_into(found)


def take_into(pool_id: int) -> int:
    """Take the oldest active runs without a pool into this one; how many. The caller holds the pool, or its key."""
    return take_in(pool_id, RoutineRun.objects.using(ledger_alias()), TAKEN_AT_ONCE)
