"""What is read for an answer: the rows around a moment and the routine's history, all of it bounded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from routines_app.core.keys import finer_slot_key, slot_key
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import unheld
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.verbs.reading import LARGE_FIELDS, oldest_run_id

NEAR = 300  # rows on each side of the moment
CHAIN = 50
CHANGES = 1_000
CLOCKS_DIFFER = timedelta(minutes=1)  # of the machines whose time is in the ids
OF_THOSE_NEAR = (
    "chain",
    "attempt",
    "status",
    "reason",
    "idempotency_key",
    "scheduled_for",
    "scheduled_until",
    "routine_id",
)
LEFT_OUT = tuple(field for field in LARGE_FIELDS if field != "error")

# Hints come by the thousand, and are told by the rows themselves.
TOLD_BY_ROWS = (ChangeKind.HINTED, ChangeKind.HINT_EXPIRED, ChangeKind.HINTS_CLEARED)


def row_of_slot(routine: Routine, slot: datetime, near: Sequence[RoutineRun]) -> RoutineRun | None:
    """The first attempt at exactly this slot, by its key: among those near to it, or written much later."""
    keys = [slot_key(routine.pk, slot, 1), finer_slot_key(routine.pk, slot, 1)]
    found = [run for run in near if run.idempotency_key in keys and run.scheduled_for == slot]
    if found or len(near) < 2 * NEAR:  # those near are all that there are from before the slot on
        return found[0] if found else None
    return _runs(routine).filter(idempotency_key__in=keys, scheduled_for=slot).first()


def rows_near(routine: Routine, at: datetime) -> list[RoutineRun]:
    """The rows that were written last before the moment, and first after it, in the order of their writing.

    The slots of a time without a beat are written when one is back: these rows are the first ones after.
    """
    runs, border = _runs(routine), oldest_run_id(at - CLOCKS_DIFFER)
    before = runs.filter(pk__lt=border).select_related(None).order_by("-pk").values_list("pk", flat=True)
    since = next(iter(before[NEAR - 1 : NEAR]), UUID(int=0))
    return list(runs.filter(pk__gte=since).select_related(None).only(*OF_THOSE_NEAR).order_by("pk")[: 2 * NEAR])


def chain_of(run: RoutineRun) -> list[RoutineRun]:
    """All attempts, in order."""
    first = run.chain_id
    runs = RoutineRun.objects.using(ledger_alias()).filter(Q(pk=first) | Q(chain=first)).defer(*LEFT_OUT)
    return list(runs.select_related("pool").order_by("attempt", "pk")[:CHAIN])


def run_named(run_id: UUID | None) -> RoutineRun | None:
    if run_id is None:
        return None
    return RoutineRun.objects.using(ledger_alias()).filter(pk=run_id).defer(*LARGE_FIELDS).first()


def others_running(run: RoutineRun, since: datetime, until: datetime) -> list[RoutineRun]:
    """Other runs of its routine whose bodies were at work in that time: what it can have waited behind."""
    rows = _runs(run.routine).exclude(pk=run.pk).filter(pk__lte=oldest_run_id(until + CLOCKS_DIFFER))
    newest = rows.order_by("-pk")[:NEAR]
    return [row for row in newest if _was_running(row, since, until)]


def _was_running(row: RoutineRun, since: datetime, until: datetime) -> bool:
    if row.started_at is None or row.started_at > until:
        return False
    ended = row.body_ended_at or row.completed_at
    return ended is None or ended >= since


def changes_of(routine: Routine) -> Sequence[ScheduleChange]:
    """The routine's history but for hints, newest first."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=routine.pk)
    return list(changes.exclude(kind__in=TOLD_BY_ROWS).order_by("-pk")[:CHANGES])


def is_held(routine: Routine) -> bool:
    """Whether somebody has locked the routine's row, or that of its state, at this moment."""
    with bounded():
        return not (unheld(RoutineState, [routine.pk]) and unheld(Routine, [routine.pk]))


def _runs(routine: Routine) -> QuerySet[RoutineRun]:
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=routine.pk)
    return runs.defer(*LEFT_OUT).select_related("pool")
