"""Reading batches of pauses."""

from __future__ import annotations

from django.db.models import Count

from routines_app.core.errors import InvalidValue, NotFound
from routines_app.core.listing import listed
from routines_app.core.said import said
from routines_app.models import PauseBatch, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import LARGEST_ID
from routines_app.verbs.checking.rules import Integer, is_storable

BatchRef = PauseBatch | int | str
LIMIT = Integer(least=1, most=10_000)
NAMED = 10


def find_pause_batch(ref: BatchRef) -> PauseBatch:
    """The batch as it is stored now. Text is the name of an open one, an integer the id of any."""
    batches = PauseBatch.objects.using(ledger_alias())
    if isinstance(ref, PauseBatch):
        found = batches.filter(pk=ref.pk).first()
    elif isinstance(ref, int) and not isinstance(ref, bool):
        found = batches.filter(pk=ref).first() if abs(ref) <= LARGEST_ID else None
    elif isinstance(ref, str) and is_storable(ref):
        found = batches.filter(name=ref, is_open=True).first()
    else:
        raise InvalidValue("batch", ref, said("give a PauseBatch, its id or its name"))
    if found is None:
        names = listed(batches.filter(is_open=True).values_list("name", flat=True)[:NAMED])
        if isinstance(ref, int):
            raise NotFound("batch", str(ref), said("no batch has that id; open are: {names}", names=names))
        raise NotFound("batch", str(ref), said("no open batch has that name; open are: {names}", names=names))
    return found


def list_pause_batches(limit: int = 100, *, closed: bool = False) -> list[PauseBatch]:
    """The open batches, the newest first, each with how many routines are `paused` by it now; `closed`: also others."""
    batches = PauseBatch.objects.using(ledger_alias()).order_by("-id")
    found = list((batches if closed else batches.filter(is_open=True))[: LIMIT("limit", limit)])
    counts = _paused_by(found)
    for batch in found:
        batch.paused = counts.get(batch.pk, 0)
    return found


def _paused_by(batches: list[PauseBatch]) -> dict[int | None, int]:
    """By the index that leads to a batch's routines."""
    routines = Routine.objects.using(ledger_alias()).filter(pause_batch__in=[batch.pk for batch in batches])
    return dict(routines.order_by().values_list("pause_batch_id").annotate(Count("pk")))
