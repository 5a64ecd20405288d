"""Resuming a batch: what it has paused, and nothing else. Also what that would release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import NotAllowed, NotFound
from routines_app.core.said import said
from routines_app.core.words import CatchUpPolicy, RoutineStatus
from routines_app.models import PauseBatch, Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_batch, lock_or_make_states
from routines_app.protocol.plan.unfired import unfired
from routines_app.verbs.batches.finding import BatchRef, find_pause_batch
from routines_app.verbs.batches.pieces import PIECE, resume_piece
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.resume import RELEASE
from routines_app.verbs.rotations.writing import By, Progress, routines_of

COUNTED_AT_MOST = 100_000
LOOKED_AT = 200  # routines whose slots are counted for a preview; of more, as many from all over the batch


class BatchResumed(NamedTuple):
    """What became of a batch."""

    batch: PauseBatch
    refused: list[tuple[str, NotAllowed]]
    """Routines that cannot be resumed, and why. They stay paused, each by itself."""


def resume_pause_batch(
    batch: BatchRef,
    *,
    release: str = "SKIP",
    actor: str = "",
    reason: str = "",
    progress: Callable[[int], None] | None = None,
) -> BatchResumed:
    """Let all routines fire again that the batch has paused and nobody has touched since; then it is closed.

    `release` as `resume_routine` has it. It is done in pieces of 500: after each `progress` is told how many are done,
    and what it raises ends the work there: the same call again goes on. A batch is resumed in one way from its
    beginning to its end, and once that has begun nobody fills it any more. One that cannot be resumed, because its next
    fire cannot be computed, stays paused and leaves the batch.
    """
    policy, by, found = CatchUpPolicy(RELEASE("release", release)), By.checked(actor, reason), find_pause_batch(batch)
    found, refused, told = _begin(found, policy, by), list[tuple[str, NotAllowed]](), Progress(progress)
    while found.is_open:
        before = found.resumed
        found, not_resumed = _resume_piece(found, policy, by)
        refused += [(routine.name, why) for routine, why in not_resumed]
        told.add(found.resumed - before)
    return BatchResumed(found, refused)


def _begin(batch: PauseBatch, release: CatchUpPolicy, by: By) -> PauseBatch:
    with verb_transaction("batch", batch.name):
        locked = _locked(batch)
        if not locked.is_open:
            raise NotAllowed(
                "batch",
                batch.name,
                said("it was closed at {closed_at}; its routines are their own", closed_at=locked.closed_at),
            )
        if locked.release not in ("", release):
            raise NotAllowed(
                "release", release, said("it is being resumed with {release}: go on with that", release=locked.release)
            )
        locked.release, locked.resumed_by = release, by.actor
        locked.save(using=ledger_alias(), update_fields=["release", "resumed_by"])
    return locked


def _resume_piece(
    batch: PauseBatch, release: CatchUpPolicy, by: By
) -> tuple[PauseBatch, list[tuple[Routine, NotAllowed]]]:
    # Before the transaction, as in `filling`. Whoever has left the batch meanwhile is found behind the locks.
    ids = list(_routines_of(batch).order_by("pk").values_list("pk", flat=True)[:PIECE])
    with verb_transaction("batch", batch.name):
        locked = _locked(batch)
        if not locked.is_open:
            return locked, []
        refused = _resume_those(locked, ids, release, by)
        if not ids:
            locked.is_open, locked.closed_at = None, clock.now()
        locked.save(using=ledger_alias(), update_fields=["is_open", "closed_at", "resumed", "refused"])
        on_commit(wake_beats)
    return locked, refused


def _resume_those(
    batch: PauseBatch, routine_ids: list[int], release: CatchUpPolicy, by: By
) -> list[tuple[Routine, NotAllowed]]:
    states, now = lock_or_make_states(routine_ids), clock.now()
    still = [pair for pair in routines_of(states) if pair[0].pause_batch_id == batch.pk]
    refused = resume_piece(still, release, by, now, batch)
    routines = Routine.objects.using(ledger_alias())
    routines.filter(AnyOf("pk", [routine.pk for routine, _ in refused])).update(pause_batch=None)
    batch.resumed += len(still) - len(refused)
    batch.refused += len(refused)
    return refused


def _locked(batch: PauseBatch) -> PauseBatch:
    locked = lock_batch(batch.pk)
    if locked is None:
        raise NotFound("batch", batch.name, said("it was deleted meanwhile"))
    return locked


def _routines_of(batch: PauseBatch) -> QuerySet[Routine]:
    return Routine.objects.using(ledger_alias()).filter(pause_batch=batch.pk)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRelease:
    """What a resume would release now."""

    routines: int
    """How many are paused by the batch."""
    is_capped: bool
    """There are more than were counted."""
    looked_at: int
    """Of how many the slots were counted; of fewer than `routines`, the rest is an estimate."""
    owing: int
    """How many have slots that the pause kept from firing."""
    slots: int
    """How many slots those are."""

    @property
    def is_estimate(self) -> bool:
        return self.looked_at < self.routines

    @property
    def skipped_by(self) -> dict[CatchUpPolicy, int]:
        """How many slots each way of resuming skips."""
        return {CatchUpPolicy.SKIP: self.slots, CatchUpPolicy.LAST: self.slots - self.owing, CatchUpPolicy.ALL: 0}

    @property
    def runs_by(self) -> dict[CatchUpPolicy, int]:
        """How many runs each way of resuming makes."""
        return {CatchUpPolicy.SKIP: 0, CatchUpPolicy.LAST: self.owing, CatchUpPolicy.ALL: self.slots}


def preview_resume_batch(batch: BatchRef) -> BatchRelease:
    """What `resume_pause_batch` would release now. Reads only; beyond 200 routines it looks at some of them from all
    over the batch, and the counts are an estimate."""
    ids = list(_routines_of(find_pause_batch(batch)).order_by("pk").values_list("pk", flat=True)[: COUNTED_AT_MOST + 1])
    total = min(len(ids), COUNTED_AT_MOST)
    some = ids if total <= LOOKED_AT else [ids[place * total // LOOKED_AT] for place in range(LOOKED_AT)]
    counts = _slots_of(some, clock.now())
    share = total / len(some) if some else 1
    return BatchRelease(
        routines=total,
        is_capped=len(ids) > COUNTED_AT_MOST,
        looked_at=len(some),
        owing=round(sum(count > 0 for count in counts) * share),
        slots=round(sum(counts) * share),
    )


def _slots_of(routine_ids: list[int], now: datetime) -> list[int]:
    """Of each that has a state and a schedule that can be computed."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), state__isnull=False)
    found: list[int] = []
    for routine in routines.filter(status=RoutineStatus.PAUSED).select_related("state"):
        try:
            span = unfired(routine, routine.state, now)
        except (ArithmeticError, ValueError):
            continue
        found.append(0 if span is None else span.count)
    return found
