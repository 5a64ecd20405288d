"""Pausing many routines as one batch.

The batch's row comes first; then its routines are taken in the order of their ids, up to the last one that there was
when it was made. Each piece is one transaction: the batch is locked, then the states; what is still ACTIVE behind the
locks is paused, and the batch moves on to the last id that it has looked at. Whoever is cut off in between leaves a
batch that anybody can go on with: no routine is looked at twice, and none is left out. Two who go on with it at once
take turns, and once somebody has begun to resume it nobody fills it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import IntegrityError
from django.db.models import Max, QuerySet

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import DuplicateName, InvalidValue, NotFound
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import PauseBatch, Pool, Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_batch, lock_or_make_states
from routines_app.protocol.upkeep.emptied_batches import close_emptied
from routines_app.verbs.batches.finding import BatchRef, find_pause_batch
from routines_app.verbs.batches.pieces import PIECE, Pause, pause_piece
from routines_app.verbs.batches.selection import Selection, remembered, selection_of
from routines_app.verbs.checking.names import Name
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.writing import By, Progress, routines_of

NAME = Name(longest=100)
Told = Callable[[int], None]


def pause_batch(
    name: str,
    *,
    tag: str | None = None,
    group: str | None = None,
    queue: str | None = None,
    pool: Pool | int | str | None = None,
    routines: QuerySet[Routine] | None = None,
    described: str = "",
    until: datetime | str | None = None,
    reason: str = "",
    actor: str = "",
    progress: Told | None = None,
) -> PauseBatch:
    """Pause all ACTIVE routines with a tag, in a group, on a queue or in a pool, or those of a queryset, as one batch.

    What is paused already keeps its own pause, and stays out of the batch; so do PARKED routines, and those that are
    made later. It is done in pieces of 500: after each `progress` is told how many routines are paused, and what it
    raises ends the work there: `continue_pause_batch` goes on. `described` is what the batch says of a queryset.
    """
    by, name = By.checked(actor, reason), NAME("name", name)
    ends = None if until is None else moment("until", until)
    if ends is not None and ends <= (now := clock.now()):
        raise InvalidValue("until", until, said("give a time in the future (now it is {now})", now=now))
    chosen = selection_of(tag=tag, group=group, queue=queue, pool=pool, routines=routines, described=described)
    return _fill(_opened(name, chosen, ends, by), chosen.routines, progress)


def continue_pause_batch(
    batch: BatchRef, *, routines: QuerySet[Routine] | None = None, progress: Told | None = None
) -> PauseBatch:
    """Go on with a batch whose filling was cut off; one that is whole stays as it is.

    One that was made of a queryset needs it again.
    """
    found = find_pause_batch(batch)
    return _fill(found, remembered(found, routines), progress) if found.is_filling else found


def _opened(name: str, chosen: Selection, until: datetime | None, by: By) -> PauseBatch:
    last = Routine.objects.using(ledger_alias()).aggregate(last=Max("pk"))["last"]
    batch = PauseBatch(
        name=name, reason=by.reason, until=until, created_by=by.actor, selected_by=chosen.told, up_to_id=last or 0
    )
    try:
        close_emptied(clock.now(), name)  # a beat would, in a moment
        with verb_transaction("name", name):
            batch.save(using=ledger_alias(), force_insert=True)
    except IntegrityError as error:
        if not PauseBatch.objects.using(ledger_alias()).filter(name=name, is_open=True).exists():
            raise
        expected = said("an open batch has that name: go on with it, resume it, or give another name")
        raise DuplicateName("name", name, expected) from error
    return batch


def _fill(batch: PauseBatch, routines: QuerySet[Routine], progress: Told | None) -> PauseBatch:
    told = Progress(progress)
    while batch.is_filling and not batch.is_resuming:
        before = batch.taken
        batch = _take_piece(batch, routines)
        told.add(batch.taken - before)
    return batch


def _take_piece(batch: PauseBatch, routines: QuerySet[Routine]) -> PauseBatch:
    """The batch as it is after one more piece, or as somebody else has left it meanwhile."""
    # Before the transaction: where that sees one state of the database from its first read on, locks come first.
    span = routines.filter(pk__gt=batch.looked_at_id, pk__lte=batch.up_to_id)
    ids = list(span.order_by("pk").values_list("pk", flat=True)[:PIECE])
    with verb_transaction("batch", batch.name):
        locked = lock_batch(batch.pk)
        if locked is None:
            raise NotFound("batch", batch.name, said("it was deleted meanwhile"))
        if locked.looked_at_id != batch.looked_at_id or not locked.is_filling or locked.is_resuming:
            return locked
        _pause_those(locked, ids)
        locked.looked_at_id = ids[-1] if len(ids) == PIECE else locked.up_to_id
        if locked.looked_at_id == locked.up_to_id:
            locked.filled_at = clock.now()
        locked.save(using=ledger_alias(), update_fields=["looked_at_id", "filled_at", "taken", "left_alone"])
        on_commit(wake_beats)
    return locked


def _pause_those(batch: PauseBatch, routine_ids: list[int]) -> None:
    states, now = lock_or_make_states(routine_ids), clock.now()
    found = routines_of(states)
    active = [pair for pair in found if pair[0].status == RoutineStatus.ACTIVE]
    batch.left_alone += sum(routine.status == RoutineStatus.PAUSED for routine, _ in found)
    if batch.until is not None and batch.until <= now:  # it was gone on with too late: there is nothing to pause
        return
    pause_piece(active, Pause(batch.until, By(batch.created_by, batch.reason), batch), now)
    batch.taken += len(active)
