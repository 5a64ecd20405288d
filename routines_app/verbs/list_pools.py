"""Reading the pools, and how full they are."""

from __future__ import annotations

from django.db.models import Count

from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.rules import Integer

LIMIT = Integer(least=1, most=10_000)


def list_pools(limit: int = 100) -> list[Pool]:
    """The pools by name."""
    return list(Pool.objects.using(ledger_alias()).order_by("name")[: LIMIT("limit", limit)])


def pool_use() -> dict[int, int]:
    """How many runs of each pool are admitted and not ended, by the pool's id, in one query."""
    admitted = RoutineRun.objects.using(ledger_alias()).filter(
        pool__isnull=False, status__in=sorted(ACTIVE), admitted_at__isnull=False
    )
    return dict(admitted.order_by().values_list("pool").annotate(Count("pk")))
