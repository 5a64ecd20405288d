"""Runs that have begun or ended and cannot be read: they are mended, so that what is owed to them can be done."""

from __future__ import annotations

import logging
from datetime import datetime
from uuid import UUID

from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_free_states
from routines_app.protocol.ledger.moments import take_unreadable_away
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.plan.park import park_unreadable

logger = logging.getLogger(__name__)

_NEEDED = ("started_at", "completed_at")  # constraints ask for them in a run that has begun, or ended


def mend_run(run_id: UUID, error: Exception, now: datetime) -> None:
    """Take away what cannot be read of the run, and of its routine, which is parked then; unless somebody holds it."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(id=run_id)
    routine_id = runs.values_list("routine_id", flat=True).first()
    if routine_id is None:
        return
    with bounded(lock_ms=QUICK_LOCK_MS):
        if not lock_free_states([routine_id]):
            return
        park_unreadable(routine_id, error, now)
        gone = take_unreadable_away(runs, now, needed=_NEEDED)
    if gone:
        logger.error("run %s could not be read, and is mended (taken away: %s): %s", run_id, ", ".join(gone), error)
