"""Batches of pauses whose routines have all gone on by themselves: their time was over, or somebody resumed each."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef

from routines_app.models import PauseBatch, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import bounded

AT_ONCE = 100


def close_emptied(now: datetime, name: str | None = None) -> int:
    """Close those (of that name) that are whole and hold nobody any more; how many. They get no other routine."""
    its_routines = Routine.objects.using(ledger_alias()).filter(pause_batch=OuterRef("pk"))
    whole = PauseBatch.objects.using(ledger_alias()).filter(is_open=True, filled_at__isnull=False)
    whole = whole if name is None else whole.filter(name=name)
    with bounded():
        ids = list(whole.filter(~Exists(its_routines)).values_list("pk", flat=True)[:AT_ONCE])
        return whole.filter(pk__in=ids).update(is_open=None, closed_at=now) if ids else 0
