"""PENDING runs that end without having started: cancelled, replaced, superseded, archived.

Compare-and-set: a start at the same moment wins or loses as a whole. When a chain has ended this way, an ALL catch-up
goes on, and so does QUEUE's line; a rotation's member is settled.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import continue_catch_up
from routines_app.protocol.end.line import let_next_go
from routines_app.protocol.end.overlap import Takers, cancel_pending, end_waiting
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import update_locked
from routines_app.protocol.record.events import tell
from routines_app.protocol.rotate.settle import settle_ended


def end_pending(routine_id: int, run_ids: Collection[UUID], reason: Reason, now: datetime, said: str = "") -> int:
    """Cancel those of the routine's runs that are PENDING; how many there were. The routine's state is locked."""
    return end_pending_of([routine_id], run_ids, reason, now, said)


def end_pending_of(
    routine_ids: Collection[int], run_ids: Collection[UUID], reason: Reason, now: datetime, said: str = ""
) -> int:
    """The same for several routines, whose states are locked."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id__in=routine_ids, id__in=run_ids)
    pending = runs.filter(status=RunStatus.PENDING).values_list("id", "routine_id", "rotation_id")
    of = {run_id: (routine_id, rotation_id) for run_id, routine_id, rotation_id in pending}
    ended = cancel_pending(list(of), reason, now)
    if not ended:
        return 0
    if said:
        update_locked(ended, error=said)
    continue_catch_up(routine_ids, now)
    let_next_go(routine_ids, now)
    settle_ended([of[run_id] for run_id in ended], now)
    tell(runs.filter(id__in=ended).select_related("routine"))
    return len(ended)


def replace_pending(run_ids: Collection[UUID], now: datetime, by: Takers) -> None:
    """Cancel what waits because a newer run takes its place. The states are locked, and moved on by the caller."""
    if ended := cancel_pending(run_ids, Reason.REPLACED, now, by):
        tell(RoutineRun.objects.using(ledger_alias()).filter(id__in=ended).select_related("routine"))


def supersede_pending(run_ids: Collection[UUID], now: datetime, by: Takers) -> None:
    """End slots that wait, because a newer one stands for them (QUEUE). The states are locked."""
    if ended := end_waiting(run_ids, RunStatus.SKIPPED, Reason.SUPERSEDED, now, by):
        tell(RoutineRun.objects.using(ledger_alias()).filter(id__in=ended).select_related("routine"))
