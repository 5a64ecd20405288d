"""Rows that somebody holds for long: beats skip them, so nobody would know why a routine stands still. They are named.

Whoever is the holder (a transaction that was left open, a person with a console), the database knows it: on PostgreSQL
`pg_blocking_pids`, elsewhere its list of transactions.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import connections
from django.db.models import Model, QuerySet

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import unheld
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded

logger = logging.getLogger(__name__)

LONG = timedelta(seconds=3)  # a row that was due for this long and could not be taken
AT_ONCE = 100

_said = SaidOnce(logger)


def tell_locked(now: datetime) -> int:
    """Name the routines of which a state that is due, or a run that waits, cannot be locked; how many there are."""
    alias = ledger_alias()
    if not connections[alias].features.has_select_for_update_skip_locked:
        return 0
    due = RoutineState.objects.using(alias).filter(next_run_at__lt=now - LONG).order_by("next_run_at")
    # Published ones too: one whose message met the held row is rung in again when that is free.
    waiting = RoutineRun.objects.using(alias).filter(status=RunStatus.PENDING, publish_after__lt=now - LONG)
    held = {("state", name) for name in _held(due)}
    held |= {("run", name) for name in _held(waiting.order_by("publish_after"))}
    for kind, name in sorted(held):
        _said.warn((kind, name), f"routine {name} waits: somebody else holds the row of its {kind}")
    _said.keep(held)
    return len(held)


def _held(rows: QuerySet[Model]) -> set[str]:
    """The routines of those of the rows that cannot be locked."""
    with bounded():
        names = dict(rows.values_list("pk", "routine__name")[:AT_ONCE])
        free = unheld(rows.model, names)
    return {name for pk, name in names.items() if pk not in free}
