"""Overlap: which runs of a routine are active, and how a run is asked to make room for another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Case, F, Q, Value, When, Window
from django.db.models.functions import RowNumber

from routines_app.core.admission import ActiveRun
from routines_app.core.holding import HELD_AS
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import fast_rows, ledger_alias
from routines_app.protocol.ledger.locks import lock_runs, update_locked

READ_PER_KIND = 20  # of one routine: a backlog of thousands decides nothing that its newest rows do not

_LET_THROUGH = Q(admitted_at__isnull=False) | Q(dispatched_at__isnull=False)
_IN_POOL_QUEUE = Q(pool__isnull=False, publish_after=None) & ~Q(reason__in=sorted(HELD_AS.values()))


def active_runs(routine_ids: Collection[int]) -> dict[int, list[ActiveRun]]:
    """The active runs of these routines, in one statement. Call it with the routines' states locked.

    Of each kind (running, sent, held) the newest of a routine are enough.
    """
    found: dict[int, list[ActiveRun]] = defaultdict(list)
    if not routine_ids:
        return found
    for run_id, routine_id, status, sent, stop_requested_at, reason in _newest_of_each_kind(routine_ids):
        found[routine_id].append(
            ActiveRun(
                id=run_id,
                running=status == RunStatus.RUNNING,
                sent=status == RunStatus.PENDING and bool(sent),
                stop_requested_at=stop_requested_at,
                overdue=reason == Reason.OVERDUE,
            )
        )
    return found


def _newest_of_each_kind(routine_ids: Collection[int]) -> Iterable[tuple[Any, ...]]:
    active = RoutineRun.objects.using(ledger_alias()).filter(
        AnyOf("routine_id", routine_ids), status__in=sorted(ACTIVE)
    )
    sent = Case(
        When(_LET_THROUGH | _IN_POOL_QUEUE, then=Value(True)), default=Value(False), output_field=BooleanField()
    )
    place = Window(RowNumber(), partition_by=[F("routine_id"), F("status"), F("sent")], order_by=F("id").desc())
    newest = active.annotate(sent=sent).annotate(place=place).filter(place__lte=READ_PER_KIND).order_by("id")
    return fast_rows(newest.values_list("id", "routine_id", "status", "sent", "stop_requested_at", "reason"))


def request_stop(run_ids: Collection[UUID], reason: Reason, now: datetime) -> int:
    """Ask RUNNING runs to stop; the first request counts. Their watchdogs see it."""
    running = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.RUNNING, stop_requested_at=None)
    return update_locked(lock_runs(running, run_ids), stop_requested_at=now, stop_reason=reason)


def cancel_pending(run_ids: Collection[UUID], reason: Reason, now: datetime) -> list[UUID]:
    """End PENDING runs that have not started; which. One that starts at the same moment wins and is left alone."""
    pending = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING)
    ended = {"status": RunStatus.CANCELLED, "reason": reason, "completed_at": now, "publish_after": None}
    ids = lock_runs(pending, run_ids)
    update_locked(ids, **ended)
    return ids
