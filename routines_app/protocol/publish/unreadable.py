"""Waiting runs that cannot be read: plain SQL can write times that are none. They are found, and taken out one by one.

A run with such a value is cancelled, with the reason on its row; a routine with one is parked, and its runs wait. An
error that says nothing about a value costs nobody anything but time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error

from routines_app.core.errors import shown
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger.apart import each_apart
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_about_a_value, is_outage
from routines_app.protocol.ledger.locks import lock_free_states, update_free
from routines_app.protocol.ledger.moments import take_unreadable_away
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.plan.park import park_unreadable
from routines_app.protocol.record.waits import because

logger = logging.getLogger(__name__)

_said = SaidOnce(logger)

NEXT_LOOK = timedelta(seconds=30)  # at a run that nobody can do anything about now

_READ = ("eligible_at", "scheduled_for", "routine__created_at", "routine__state__last_success_at")


def find_unreadable(run_ids: Sequence[UUID], now: datetime) -> None:
    """Take out those of the waiting runs that cannot be read; whatever else keeps one from being read may pass."""

    def read(some: Sequence[UUID]) -> None:
        list(RoutineRun.objects.using(ledger_alias()).filter(id__in=some).values_list(*_READ))

    failed = each_apart(read, run_ids).failed if run_ids else []
    for run_id, error in failed:
        if is_about_a_value(error):
            take_out(run_id, error, now)


def take_out(run_id: UUID, error: Exception, now: datetime) -> None:
    """One waiting run that cannot be read or decided: cancelled, held behind its parked routine, or looked at later."""
    try:
        with bounded(lock_ms=QUICK_LOCK_MS):
            is_mended = mend_waiting(run_id, error, now)
        if is_mended:
            _said.over(run_id)
        else:
            _look_later(run_id, error, now)
    except Exception as another:
        if isinstance(another, Error) and is_outage(another):
            raise
        # It is looked at all the time meanwhile, because its time has come.
        _said.warn(run_id, f"waiting run {run_id} cannot be decided, and is left as it is: {another!r}")


def mend_waiting(run_id: UUID, error: Exception, now: datetime) -> bool:
    """Take away what cannot be read of a PENDING run, which is cancelled then, and of its routine, which is parked.

    Whether there was such a thing, or there is no such run any more. Call it in a transaction, with no row locked.
    """
    runs = RoutineRun.objects.using(ledger_alias()).filter(id=run_id, status=RunStatus.PENDING)
    routine_id = runs.values_list("routine_id", flat=True).first()
    if routine_id is None:
        return True
    if not lock_free_states([routine_id]):
        return False
    # The routine first: whoever is told of the run's end is told of its routine, too.
    is_parked = park_unreadable(routine_id, error, now)
    gone = take_unreadable_away(runs, now)
    if not gone:
        return is_parked
    said = f"its row cannot be read: {shown(error)} (taken away: {', '.join(gone)})"
    end_pending(routine_id, [run_id], Reason.CANCELLED, now, said)
    logger.error("waiting run %s is cancelled: %s", run_id, said)
    return True


def _look_later(run_id: UUID, error: Exception, now: datetime) -> None:
    """Nothing of it is unreadable: the error may pass, or is a bug of ours. It says so, and goes behind the others."""
    _said.warn(run_id, f"waiting run {run_id} cannot be decided now and is looked at later: {error!r}")
    runs = RoutineRun.objects.using(ledger_alias()).filter(id=run_id, status=RunStatus.PENDING)
    with bounded(lock_ms=QUICK_LOCK_MS):
        update_free(runs, **because(Reason.PUBLISH_FAILED, now), admitted_at=None, publish_after=now + NEXT_LOOK)
