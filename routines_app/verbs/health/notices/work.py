"""The work itself: what is parked, and what keeps failing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.health.notices.notice import MOST_COUNTED, Notice, NoticeKind, NoticeLevel


def parked() -> Iterator[Notice]:
    count = at_most(Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.PARKED))
    if count:
        yield Notice(kind=NoticeKind.PARKED, level=NoticeLevel.WARNING, count=count)


def failing() -> Iterator[Notice]:
    """Routines whose last chain has failed, by the index of those."""
    states = RoutineState.objects.using(ledger_alias()).filter(failure_count__gt=0)
    count = at_most(states.filter(routine__status__in=(RoutineStatus.ACTIVE, RoutineStatus.PAUSED)))
    if count:
        yield Notice(kind=NoticeKind.FAILING, level=NoticeLevel.WARNING, count=count)


def at_most(rows: QuerySet[Any], most: int = MOST_COUNTED) -> int:
    """How many there are, counted no further than that."""
    return rows.order_by()[:most].count()
