"""The work itself: what is parked, and what keeps failing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.health.notices.notice import MOST_COUNTED, Notice, NoticeKind, NoticeLevel
from routines_app.verbs.reading import oldest_run_id

FAILED_LOOKED_AT = 2_000  # failed runs, the newest
FAILED_SINCE = timedelta(days=30)


def parked() -> Iterator[Notice]:
    count = at_most(Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.PARKED))
    if count:
        yield Notice(kind=NoticeKind.PARKED, level=NoticeLevel.WARNING, count=count)


def failing(now: datetime) -> Iterator[Notice]:
    """Routines whose last chain has failed.

    No index leads from a state to its failures, so they are looked for among the routines of the newest failed runs.
    """
    failed = RoutineRun.objects.using(ledger_alias()).filter(
        status=RunStatus.FAILED, pk__gte=oldest_run_id(now - FAILED_SINCE)
    )
    routines = set(failed.order_by("-pk").values_list("routine_id", flat=True)[:FAILED_LOOKED_AT])
    if not routines:
        return
    states = RoutineState.objects.using(ledger_alias()).filter(pk__in=routines, failure_count__gt=0)
    count = at_most(states.filter(routine__status__in=(RoutineStatus.ACTIVE, RoutineStatus.PAUSED)))
    if count:
        yield Notice(kind=NoticeKind.FAILING, level=NoticeLevel.WARNING, count=count)


def at_most(rows: QuerySet[Any], most: int = MOST_COUNTED) -> int:
    """How many there are, counted no further than that."""
    return rows.order_by()[:most].count()
