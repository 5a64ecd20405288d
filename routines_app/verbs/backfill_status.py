"""Following a backfill: how its runs stand, and cancelling what of it waits.

No column says which backfill a run is of; its key does, and retries follow it by their chain. When it was made is in
the batch's name, as in the ids of its runs: a short stretch of the routine's runs is looked through.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from routines_app.core.errors import NotFound
from routines_app.core.keys import batch_made_at, batch_of
from routines_app.core.said import said
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.editing import editing
from routines_app.verbs.ending import who_and_why
from routines_app.verbs.reading import oldest_run_id

BEFORE = timedelta(minutes=1)  # a clock that was set right between the name and the first id
AFTER = timedelta(minutes=10)  # a transaction that took its time
SMALL = ("id", "status", "reason", "chain", "attempt", "scheduled_for", "idempotency_key", "requested_by")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatus:
    """One backfill. Of each slot the newest attempt counts."""

    batch: str
    made_at: datetime
    requested_by: str
    runs: tuple[RoutineRun, ...]
    """The newest attempt at each slot, in the order of the slots."""

    @property
    def counts(self) -> dict[str, int]:
        """How many slots stand how."""
        return dict(Counter(run.status for run in self.runs))

    @property
    def waiting(self) -> int:
        return self.counts.get(RunStatus.PENDING, 0)

    @property
    def ended(self) -> int:
        return sum(not run.is_active for run in self.runs)


def backfill_status(routine: RoutineRef, batch: str) -> BackfillStatus:
    """How the runs of a backfill stand; `NotFound` when none is left of it."""
    found = find_routine(routine)
    made_at = batch_made_at(batch)
    first = [] if made_at is None else _first_attempts(found.pk, batch, made_at)
    if not first or made_at is None:
        raise NotFound(
            "batch", batch, said("{found} has no such backfill; its runs may have been pruned", found=found.name)
        )
    newest = {run.pk: run for run in first}
    for retry in _runs().filter(chain__in=list(newest)).order_by("attempt", "id"):
        newest[retry.chain_id] = retry
    runs = sorted(newest.values(), key=lambda run: (run.scheduled_for, run.pk))
    return BackfillStatus(batch=batch, made_at=made_at, requested_by=first[0].requested_by, runs=tuple(runs))


def cancel_backfill(routine: RoutineRef, batch: str, *, reason: str = "", actor: str = "") -> int:
    """Cancel what of a backfill waits, its retries too; what runs goes on. How many there were."""
    told = who_and_why("cancelled", reason, actor)
    with editing(routine, actor=actor, reason=reason) as edit:
        status = backfill_status(edit.routine, batch)
        waiting = [run.pk for run in status.runs if run.status == RunStatus.PENDING]
        return end_pending(edit.routine.pk, waiting, Reason.CANCELLED, edit.now, told) if waiting else 0


def _first_attempts(routine_id: int, batch: str, made_at: datetime) -> list[RoutineRun]:
    made = _runs().filter(routine_id=routine_id, pk__gte=oldest_run_id(made_at - BEFORE))
    stretch = made.filter(pk__lt=oldest_run_id(made_at + AFTER), chain=None).order_by("id")
    return [run for run in stretch if batch_of(run.idempotency_key) == batch]


def _runs() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).only(*SMALL)
