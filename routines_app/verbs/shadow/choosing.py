"""Which routines a switch-over is about, and which of them it must leave alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from celery.app import app_or_default
from django.db import connections
from django.db.models import QuerySet

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import MovedEntry, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import fault_of
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.shadow.seen_fires import last_fires

BATCH = 100

STATIC = "a beat_schedule cannot be changed while its beat runs: stop that beat, and say that it is stopped"
STATIC_REDBEAT = (
    "it is in beat_schedule too, and redbeat would enable it again with its next start: take it out there first, or "
    "stop that beat and say that it is stopped"
)
UNRECORDED = (
    "no fire of its old entry was recorded, so nobody knows what it has fired: restart the old beat with routines_app "
    "in INSTALLED_APPS, or stop it and say that it is stopped"
)


def refuse_inside_a_transaction() -> None:
    """Each step must be seen by beats before the next: by those of the old scheduler, too."""
    if connections[ledger_alias()].in_atomic_block:
        raise NotAllowed(
            "transaction", ledger_alias(), said("call it outside of any transaction: it commits step by step")
        )


def chosen(
    routines: RoutineRef | Iterable[RoutineRef] | None, scheduler: str | None, *, back: bool = False
) -> list[MovedEntry]:
    """The old entries of these routines, of that scheduler, or of all that are in shadow; `back`: that were switched
    over, also those that a way back has left halfway."""
    if routines is not None:
        return _in_order(_named(ref, back=back) for ref in _refs(routines))
    entries = _entries().filter(switched_at__isnull=False) if back else _entries().filter(routine__shadow=True)
    return _in_order(entries if scheduler is None else entries.filter(scheduler=known_scheduler(scheduler)))


def chosen_for_report(routines: RoutineRef | Iterable[RoutineRef] | None) -> list[MovedEntry]:
    """Those in shadow, or these, in the order of their names."""
    if routines is None:
        entries: Iterable[MovedEntry] = _entries().filter(routine__shadow=True)
    else:
        entries = [_moved(find_routine(ref)) for ref in _refs(routines)]
    return sorted(entries, key=lambda entry: entry.routine.name)


def known_scheduler(scheduler: str) -> OldScheduler:
    try:
        return OldScheduler(scheduler)
    except ValueError:
        raise InvalidValue("scheduler", scheduler, said("give one of {these}", these=", ".join(OldScheduler))) from None


def _entries() -> QuerySet[MovedEntry]:
    entries = MovedEntry.objects.using(ledger_alias()).select_related("routine__state")
    return entries.exclude(routine__status=RoutineStatus.ARCHIVED).filter(routine__state__isnull=False)


def _named(ref: RoutineRef, *, back: bool) -> MovedEntry:
    routine = find_routine(ref)
    entry = _moved(routine)
    if back and entry.switched_at is None:
        raise NotAllowed("routine", routine.name, said("it was not switched over: its old entry fires it"))
    if not back and not routine.shadow:
        raise NotAllowed("routine", routine.name, said("it is not in shadow: it fires itself"))
    return entry


def _refs(routines: RoutineRef | Iterable[RoutineRef]) -> list[RoutineRef]:
    return [routines] if isinstance(routines, Routine | int | str) else list(routines)


def _moved(routine: Routine) -> MovedEntry:
    entry = _entries().filter(routine=routine).first()
    if entry is None:
        raise NotAllowed("routine", routine.name, said("it is archived, or was not moved from another scheduler"))
    return entry


def _in_order(entries: Iterable[MovedEntry]) -> list[MovedEntry]:
    return sorted(entries, key=lambda entry: (entry.scheduler, entry.routine_id))


def in_batches(entries: Sequence[MovedEntry]) -> Iterator[tuple[str, list[MovedEntry]]]:
    """By scheduler, a hundred at a time."""
    for scheduler, group in groupby(entries, key=lambda entry: entry.scheduler):
        of_it = list(group)
        for start in range(0, len(of_it), BATCH):
            yield scheduler, of_it[start : start + BATCH]


def why_not(entries: Sequence[MovedEntry], *, stopped: bool) -> dict[int, str]:
    """By routine, why its slots cannot be handed over. `stopped`: nobody fires the old entries any more."""
    refused: dict[int, str] = {}
    now = clock.now()
    for scheduler, batch in in_batches(entries):
        unrecorded = set() if stopped else _unrecorded(scheduler, batch)
        for entry in batch:
            fault = fault_of(entry.routine, entry.routine.state, now)
            if fault is not None:
                refused[entry.routine_id] = f"its next fire cannot be computed: {fault}"
            elif not stopped and (static := _static(entry)):
                refused[entry.routine_id] = static
            elif entry.routine_id in unrecorded:
                refused[entry.routine_id] = UNRECORDED
    return refused


def _static(entry: MovedEntry) -> str:
    if entry.scheduler == OldScheduler.BEAT_SCHEDULE:
        return STATIC
    is_static = entry.scheduler == OldScheduler.REDBEAT and entry.key in (app_or_default().conf.beat_schedule or {})
    return STATIC_REDBEAT if is_static else ""


def _unrecorded(scheduler: str, batch: Sequence[MovedEntry]) -> set[int]:
    """Those with slots that the old one should have fired, and no fire. redbeat itself stores each before it sends.

    Also a slot of just now, whose fire may be on its way here, and one that no beat of ours has come to yet: that the
    old beat records nothing must not be found out afterwards.
    """
    if scheduler != OldScheduler.DJANGO_CELERY_BEAT:
        return set()
    recorded, now = last_fires(scheduler, [entry.key for entry in batch]), clock.now()
    without = [entry for entry in batch if entry.key not in recorded]
    due = {entry.routine_id for entry in without if _is_due(entry, now)}
    runs = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id__in=[entry.routine_id for entry in without], reason=Reason.SHADOW
    )
    return due | set(runs.order_by().values_list("routine_id", flat=True).distinct())


def _is_due(entry: MovedEntry, now: datetime) -> bool:
    slot = entry.routine.state.next_slot
    return entry.routine.status == RoutineStatus.ACTIVE and slot is not None and slot <= now
