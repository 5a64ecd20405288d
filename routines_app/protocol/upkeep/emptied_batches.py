"""Batches of pauses whose routines have all gone on by themselves: their time was over, or somebody resumed each."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from routines_app.models import PauseBatch, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import bounded

AT_ONCE = 100


def close_emptied(now: datetime, name: str | None = None) -> int:
    """Close those (of that name) that hold nobody any more and get no other routine; how many.

    They are whole, or somebody has begun to resume them: nobody fills them after that.
    """
    its_routines = Routine.objects.using(ledger_alias()).filter(pause_batch=OuterRef("pk"))
    done = PauseBatch.objects.using(ledger_alias()).filter(Q(filled_at__isnull=False) | ~Q(release=""), is_open=True)
    done = done if name is None else done.filter(name=name)
    with bounded():
        ids = list(done.filter(~Exists(its_routines)).values_list("pk", flat=True)[:AT_ONCE])
        return done.filter(pk__in=ids).update(is_open=None, closed_at=now) if ids else 0
