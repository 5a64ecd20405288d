"""Parking: a routine that cannot be planned or read is taken out, with the reason where people look for it.

Always behind the state's lock, as every edit: of two beats that fail by the same routine one parks it, and what a
person has mended meanwhile stays as it is.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, F

from routines_app import signals
from routines_app.core.errors import shown
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import HINT_COLUMNS, ChangeKind, Routine, RoutineState, no_hint
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_about_a_value
from routines_app.protocol.ledger.locks import lock_free_states
from routines_app.protocol.ledger.moments import take_unreadable_away, unreadable
from routines_app.protocol.record import changes
from routines_app.protocol.record.events import emit

logger = logging.getLogger(__name__)

_TIMES = {field.attname for field in RoutineState._meta.concrete_fields if isinstance(field, DateTimeField)}
_NEEDED = {"once_at"}  # whatever it is: a constraint says that a ONCE routine has one
_OUT = (RoutineStatus.PARKED, RoutineStatus.ARCHIVED)


def park(routine: Routine, reason: str, now: datetime) -> bool:
    """Take the routine out, unless it is out already; whether it was not. Its name and task are known.

    The state is locked by the caller, and sleeps afterwards in any case.
    """
    alias = ledger_alias()
    routines = Routine.objects.using(alias).filter(pk=routine.pk)
    won = routines.exclude(status__in=_OUT).update(
        status=RoutineStatus.PARKED,
        pause_reason=reason,
        paused_until=None,
        pause_batch=None,
        version=F("version") + 1,  # whoever edits it on a form that was filled in before is refused
        updated_at=now,
    )
    source = Source[RoutineStatus(routines.values_list("status", flat=True).get()).name]
    RoutineState.objects.using(alias).filter(pk=routine.pk).update(next_run_at=None, next_source=source)
    if won:
        changes.record(ChangeKind.PARKED, routine, None, now, actor=changes.BEAT, reason=reason)
        emit(signals.routine_parked, Routine, routine=routine, run=None, reason=reason)
    return bool(won)


def park_unreadable(routine_id: int, error: Exception, now: datetime, *, due: bool = False) -> bool:
    """Park a routine of whose row or state something cannot be read, and take that away; whether there was anything.

    Left in the row it would keep the admin from showing the routine, and every verb from mending it. `due`: a value of
    the routine has made its claim fail, so it is at fault as long as it is due. Any other error may pass, or be a bug
    of ours, and a routine that can be read is not parked for it. One whose state somebody holds is left alone.
    """
    if not lock_free_states([routine_id]):
        return False
    gone = _take_away(routine_id, now)
    if not gone and not (due and _is_due(routine_id, now)) and _can_be_read(routine_id):
        return False
    name, task = Routine.objects.using(ledger_alias()).values_list("name", "task").get(pk=routine_id)
    taken = f" (taken away: {', '.join(gone)})" if gone else ""
    reason = f"its row cannot be read: {shown(error)}{taken}"
    if park(Routine(pk=routine_id, name=name, task=task), reason, now):
        logger.error("routine %s is parked: %s", name, reason)
    return True


def _take_away(routine_id: int, now: datetime) -> list[str]:
    """Which columns held what nobody can read."""
    alias = ledger_alias()
    states = RoutineState.objects.using(alias).filter(pk=routine_id)
    gone = take_unreadable_away(Routine.objects.using(alias).filter(pk=routine_id), now, needed=_NEEDED)
    # Constraints hold these together with others: a plan without a moment sleeps, an end of a pause has its policy, a
    # hint its expiry.
    together: list[tuple[str, dict[str, Any]]] = [
        ("next_run_at", {"next_run_at": None, "next_source": Source.PARKED}),
        ("next_slot", {"next_slot": None, "slot_source": ""}),
        ("release_until", {"release_until": None, "release_policy": ""}),
        *((column, no_hint(kind)) for kind, columns in HINT_COLUMNS.items() for column in columns if column in _TIMES),
    ]
    for column, values in together:
        gone += [column] * states.filter(unreadable(column)).update(**values)
    return gone + take_unreadable_away(states, now)


def _is_due(routine_id: int, now: datetime) -> bool:
    return RoutineState.objects.using(ledger_alias()).filter(pk=routine_id, next_run_at__lte=now).exists()


def _can_be_read(routine_id: int) -> bool:
    try:
        with transaction.atomic(using=ledger_alias()):
            Routine.objects.using(ledger_alias()).select_related("state").get(pk=routine_id)
    except Exception as error:
        if not is_about_a_value(error):
            raise
        return False
    return True
