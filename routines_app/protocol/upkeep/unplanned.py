"""Rows that no look would ever find, or could do anything about, because a time of theirs is none that comes.

Plain SQL can write such times (`ledger/moments.py`). A routine is parked, a waiting run cancelled, each with the reason
and in a transaction of its own: one that somebody holds undoes none of the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.db import Error
from django.db.models import Q

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.moments import LAST_MOMENT, unreadable
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.plan.park import park_unreadable
from routines_app.protocol.publish.unreadable import mend_waiting

logger = logging.getLogger(__name__)

FOUND_AT_ONCE = 1_000
BUSY_SECONDS = 1.0  # a beat has more to do: the next pass goes on

_said = SaidOnce(logger)

# One that is sent as soon as somebody looks needs nobody to read its `publish_after`.
_UNREADABLE_RUN = Q(publish_after__gt=LAST_MOMENT)
for _column in ("dispatched_at", "admitted_at", "eligible_at", "scheduled_for"):
    _UNREADABLE_RUN |= unreadable(_column)

Id = TypeVar("Id", int, UUID)


def park_unplanned(now: datetime) -> int:
    """Routines whose next moment is one that never comes (`infinity`): no claim would ever look at them."""
    states = RoutineState.objects.using(ledger_alias()).filter(next_run_at__gt=LAST_MOMENT).order_by("pk")
    with bounded():
        ids = list(states.values_list("pk", flat=True)[:FOUND_AT_ONCE])
    why = ValueError("its next_run_at is no time that comes")
    return _each("routine", ids, lambda routine_id: park_unreadable(routine_id, why, now))


def cancel_unreadable(now: datetime) -> int:
    """PENDING runs that nobody would look at, or start: they would hold up every later run of an exclusive routine."""
    pending = RoutineRun.objects.using(ledger_alias()).filter(_UNREADABLE_RUN, status=RunStatus.PENDING).order_by("id")
    with bounded():
        ids = list(pending.values_list("id", flat=True)[:FOUND_AT_ONCE])
    why = ValueError("one of its times is none")
    return _each("waiting run", ids, lambda run_id: mend_waiting(run_id, why, now))


def _each(what: str, ids: Iterable[Id], mend: Callable[[Id], bool]) -> int:
    """How many were mended. Those that could not be the last time come last: they may take all the time there is."""
    until, done = time.monotonic() + BUSY_SECONDS, 0
    for each in sorted(ids, key=lambda each: each in _said):
        if time.monotonic() > until:
            break
        try:
            done += retrying_conflicts(partial(_bounded, mend, each))
        except Exception as error:
            if isinstance(error, Error) and is_outage(error):
                raise
            _said.warn(each, f"{what} {each} cannot be read, and could not be mended now: {error!r}")
        else:
            _said.over(each)
    return done


def _bounded(mend: Callable[[Id], bool], each: Id) -> bool:
    with bounded(lock_ms=QUICK_LOCK_MS):
        return mend(each)
