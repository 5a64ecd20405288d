"""Slots of one routine within one millisecond: a hint may choose a moment right beside a slot of the schedule.

Keys count milliseconds. The first of two such slots has the usual key, the other one a finer key; which is which, the
row that is there says. So a slot that has a row is known by it, however old that row is, and none is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from routines_app.core.keys import finer_slot_key, slot_key
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias


def keys_of_many(slots: Sequence[tuple[int, datetime]]) -> list[str]:
    """The keys of first attempts. Ask with the routines' states locked, and insert before they are let go."""
    usual = [slot_key(routine_id, slot, 1) for routine_id, slot in slots]
    taken = taken_slots(usual)
    return [
        key if taken.setdefault(key, slot) == slot else finer_slot_key(routine_id, slot, 1)
        for key, (routine_id, slot) in zip(usual, slots, strict=True)
    ]


def taken_slots(keys: Iterable[str]) -> dict[str, datetime]:
    """For which slots the keys are in use."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(idempotency_key__in=list(keys))
    return dict(rows.values_list("idempotency_key", "scheduled_for"))
