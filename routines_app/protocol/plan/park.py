"""Parking: a routine that cannot be planned or read is taken out, with the reason where people look for it."""

from __future__ import annotations

import logging
from datetime import datetime

from routines_app import signals
from routines_app.core.errors import shown
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import take_unreadable_away, unreadable
from routines_app.protocol.record import changes
from routines_app.protocol.record.events import emit

logger = logging.getLogger(__name__)


def park(routine: Routine, reason: str, now: datetime) -> None:
    """Take the routine out; its name and task are known. The state is locked, or written by nobody else."""
    alias = ledger_alias()
    Routine.objects.using(alias).filter(pk=routine.pk).update(
        status=RoutineStatus.PARKED, pause_reason=reason, paused_until=None
    )
    RoutineState.objects.using(alias).filter(pk=routine.pk).update(next_run_at=None, next_source=Source.PARKED)
    changes.record(ChangeKind.PARKED, routine, None, now, actor=changes.BEAT, reason=reason)
    emit(signals.routine_parked, Routine, routine=routine, run=None, reason=reason)


def park_unreadable(routine_id: int, error: Exception, now: datetime) -> list[str]:
    """Park a routine of whose row or state something cannot be read, and take that away; which columns.

    Left in the row it would keep the admin from showing the routine, and every verb from mending it.
    """
    alias = ledger_alias()
    name, task = Routine.objects.using(alias).values_list("name", "task").get(pk=routine_id)
    states = RoutineState.objects.using(alias).filter(pk=routine_id)
    gone = take_unreadable_away(Routine.objects.using(alias).filter(pk=routine_id), now)
    # Constraints hold these together with others: a plan without a moment sleeps, an end of a pause has its policy.
    for column, values in (
        ("next_run_at", {"next_run_at": None, "next_source": Source.PARKED}),
        ("release_until", {"release_until": None, "release_policy": ""}),
    ):
        gone += [column] * states.filter(unreadable(column)).update(**values)
    gone += take_unreadable_away(states, now)
    taken = f" (taken away: {', '.join(gone)})" if gone else ""
    reason = f"its row cannot be read: {shown(error)}{taken}"
    logger.error("routine %s is parked: %s", name, reason)
    park(Routine(pk=routine_id, name=name, task=task), reason, now)
    return gone
