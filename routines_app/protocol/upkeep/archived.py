"""Runs that wait although their routine is archived.

The archive ends the first of them, this the others: however many there are, no request waits for all of them, and no
lock is held so long. What somebody holds is left for the next look.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_free_runs, lock_free_states, update_locked
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record.events import tell
from routines_app.protocol.rotate.settle import settle_ended

CANCELLED_AT_ONCE = 1_000


def cancel_archived(now: datetime) -> int:
    """Cancel about one batch of them; how many. Begins with the routines: of runs there may be any number that wait."""
    archived = Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.ARCHIVED)
    with bounded():
        found = list(archived.filter(Exists(_waiting(OuterRef("pk")))).order_by("pk").values_list("pk", flat=True))
    cancelled = 0
    for routine_id in found:
        if cancelled >= CANCELLED_AT_ONCE:
            break
        with bounded():
            cancelled += cancel_waiting(routine_id, now) if lock_free_states([routine_id]) else 0
    return cancelled


def cancel_waiting(routine_id: int, now: datetime) -> int:
    """Cancel the oldest PENDING runs of an archived routine; how many. Its state is locked by the caller.

    Asked behind that lock whether it is archived: code may have declared it again since somebody looked.
    """
    waiting = _waiting(routine_id).filter(routine__status=RoutineStatus.ARCHIVED)
    ended = lock_free_runs(waiting, CANCELLED_AT_ONCE)
    values = {"status": RunStatus.CANCELLED, "reason": Reason.ARCHIVED, "completed_at": now, "publish_after": None}
    update_locked(ended, **values)
    runs = list(RoutineRun.objects.using(ledger_alias()).filter(AnyOf("id", ended)).select_related("routine"))
    settle_ended([(run.routine_id, run.rotation_id) for run in runs], now)
    tell(runs)
    return len(ended)


def has_waiting(routine_id: int) -> bool:
    return _waiting(routine_id).exists()


def _waiting(routine_id: Any) -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(routine_id=routine_id, status=RunStatus.PENDING)
