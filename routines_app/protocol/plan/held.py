"""Runs that a routine's status holds back (`core/holding.py`), and how they are let go again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Greatest

from routines_app.core.holding import HELD_AS
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import update_in_order
from routines_app.protocol.record.waits import because

HELD_BY_STATUS = Q(routine__status__in=sorted(HELD_AS)) & Q(requested_at=None)
"""`held_as`, asked of many runs at once."""


def hold_runs(routine_ids: Collection[int], now: datetime) -> int:
    """Hold what waits to be sent; what is in the broker is handed back by the worker that receives it."""
    waiting = _unsent(routine_ids).filter(requested_at=None)
    return update_in_order(waiting, **because(Reason.PAUSED, now), publish_after=None, admitted_at=None)


def release_held_runs(routine_ids: Collection[int], now: datetime) -> int:
    """Let what was held go on, each as soon as it is eligible."""
    waiting_for_nobody = _unsent(routine_ids).filter(Q(publish_after=None) | Q(reason__in=sorted(HELD_AS.values())))
    at = Greatest(F("eligible_at"), Value(now))
    return update_in_order(waiting_for_nobody, **because(Reason.NONE, now), publish_after=at)


def _unsent(routine_ids: Collection[int]) -> QuerySet[RoutineRun]:
    runs = RoutineRun.objects.using(ledger_alias())
    return runs.filter(AnyOf("routine_id", routine_ids), status=RunStatus.PENDING, dispatched_at=None)
