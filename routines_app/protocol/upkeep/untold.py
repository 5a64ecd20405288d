"""Ends that nobody has told: who wrote them died, or lost touch with the ledger, before the receivers were called.

A beat takes a few at a time, so that of several beats one tells each, calls its own receivers, and notes that, for each
by itself: one that cannot be read or told does not make the others be told again. Ends for which this process has no
receivers are left to one that has.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import Error
from django.db.models import Q

from routines_app.core.transitions import TERMINAL
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.recorded import read_back
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_about_a_value, is_outage
from routines_app.protocol.ledger.locks import skipping_locked
from routines_app.protocol.ledger.moments import LAST_MOMENT
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record import told
from routines_app.protocol.record.events import is_heard, run_ended
from routines_app.protocol.upkeep.mend import mend_run

logger = logging.getLogger(__name__)

TOLD_AT_ONCE = 20
BUSY_SECONDS = 1.0  # receivers may be slow, and a beat has more to do: the next pass goes on

_said = SaidOnce(logger)


def tell_untold(now: datetime) -> int:
    """Send the signals of ends that are overdue to be told; how many there were."""
    heard = [status for status in sorted(TERMINAL) if is_heard(RunStatus(status))]
    began, count = time.monotonic(), 0
    while heard and time.monotonic() - began < BUSY_SECONDS and (taken := _take(heard, now)):
        count += sum(_tell(run_id, now) for run_id in taken)
    return count


def _take(heard: Collection[str], now: datetime) -> Sequence[UUID]:
    """Some that nobody else has taken: until the new deadline they are ours. Found first, locked by their ids then."""
    runs = RoutineRun.objects.using(ledger_alias())
    is_overdue = Q(tell_after__lte=now) | Q(tell_after__gt=LAST_MOMENT)  # what never comes is overdue, too
    overdue = runs.filter(is_overdue, status__in=heard).order_by("tell_after").values_list("id", flat=True)
    found = list(overdue[:TOLD_AT_ONCE])
    if not found:
        return []
    with bounded():
        locked = list(skipping_locked(runs.filter(id__in=found).order_by("id")).values_list("id", flat=True))
        taken = list(overdue.filter(id__in=locked))
        told.expect(taken, now)
    return taken


def _tell(run_id: UUID, now: datetime) -> bool:
    """Whether it was told; one that cannot be is tried again when its new deadline has passed."""
    try:
        run = _read(run_id, now)
        run_ended(run, **read_back(ledger_alias(), run).told)
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        _said.warn(run_id, f"the end of run {run_id} could not be told, and is tried again: {error!r}")
        return False
    told.note([run_id])
    _said.over(run_id)
    return True


def _read(run_id: UUID, now: datetime) -> RoutineRun:
    runs = RoutineRun.objects.using(ledger_alias()).select_related("routine")
    try:
        return runs.get(id=run_id)
    except Exception as error:
        if not is_about_a_value(error):
            raise
        mend_run(run_id, error, now)
    return runs.get(id=run_id)
