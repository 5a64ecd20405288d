"""Ends that nobody has told: who wrote them died, or lost touch with the ledger, before the receivers were called.

A beat takes a few at a time, so that of several beats one tells each, calls its own receivers, and notes that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from routines_app.core.transitions import TERMINAL
from routines_app.models import RoutineRun
from routines_app.protocol.end.recorded import read_back
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import skipping_locked
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record import told
from routines_app.protocol.record.events import run_ended

TOLD_AT_ONCE = 20
BUSY_SECONDS = 1.0  # receivers may be slow, and a beat has more to do: the next pass goes on


def tell_untold(now: datetime) -> int:
    """Send the signals of ends that are overdue to be told; how many there were."""
    began, count = time.monotonic(), 0
    while time.monotonic() - began < BUSY_SECONDS and (taken := _take(now)):
        for run in RoutineRun.objects.using(ledger_alias()).select_related("routine").filter(id__in=taken):
            run_ended(run, **read_back(ledger_alias(), run).told)
            count += 1
        told.note(taken)
    return count


def _take(now: datetime) -> Sequence[UUID]:
    """Some that nobody else has taken: until the new deadline they are ours. Found first, locked by their ids then."""
    alias = ledger_alias()
    runs = RoutineRun.objects.using(alias)
    overdue = runs.filter(tell_after__lte=now, status__in=sorted(TERMINAL)).order_by("tell_after")
    found = list(overdue.values_list("id", flat=True)[:TOLD_AT_ONCE])
    if not found:
        return []
    with bounded():
        locked = skipping_locked(runs.filter(id__in=found).order_by("id")).values_list("id", "tell_after")
        taken = [run_id for run_id, tell_after in locked if tell_after is not None and tell_after <= now]
        told.expect(taken, now)
    return taken
