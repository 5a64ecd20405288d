"""Runs that wait although their routine is archived. The archive ends the first of them, this the others: however many
there are, no request waits for all of them, and no lock is held so long."""

from __future__ import annotations

from datetime import datetime

from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.overlap import cancel_pending
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_free_states
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record.events import tell

CANCELLED_AT_ONCE = 1_000


def cancel_archived(now: datetime) -> int:
    """Cancel about one batch of them; how many. Routines that somebody holds are left for the next look."""
    runs = RoutineRun.objects.using(ledger_alias())
    waiting = runs.filter(status=RunStatus.PENDING, routine__status=RoutineStatus.ARCHIVED)
    with bounded():
        found = list(waiting.order_by("id").values_list("routine_id", flat=True)[:CANCELLED_AT_ONCE])
    cancelled = 0
    for routine_id in dict.fromkeys(found):
        if cancelled < CANCELLED_AT_ONCE:
            with bounded():
                cancelled += cancel_waiting(routine_id, now) if lock_free_states([routine_id]) else 0
    return cancelled


def cancel_waiting(routine_id: int, now: datetime) -> int:
    """Cancel the oldest PENDING runs of an archived routine; how many. Its state is locked by the caller.

    Asked behind that lock whether it is archived: code may have declared it again since somebody looked.
    """
    pending = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id=routine_id, status=RunStatus.PENDING, routine__status=RoutineStatus.ARCHIVED
    )
    runs = list(pending.select_related("routine").order_by("id")[:CANCELLED_AT_ONCE])
    ended = set(cancel_pending([run.pk for run in runs], Reason.ARCHIVED, now))
    cancelled = [run for run in runs if run.pk in ended]
    for run in cancelled:
        run.status, run.reason, run.completed_at, run.publish_after = RunStatus.CANCELLED, Reason.ARCHIVED, now, None
    tell(cancelled)
    return len(cancelled)
