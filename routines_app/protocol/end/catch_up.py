"""ALL catch-up goes on: when the chain of one missed slot has ended, the next one may fire."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import BASELINE, Source, TriggerKind
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_free_states
from routines_app.protocol.ledger.timeouts import bounded


def continue_catch_up(routine_ids: Collection[int], now: datetime) -> int:
    """Let a beat look again at those of the routines that are catching up and have no active run left.

    Call it in the transaction that ended a run, with the states locked. An active run of any kind holds the
    catch-up back; the end of that run comes here too, so nothing is forgotten.
    """
    waiting = list(between_chains().filter(pk__in=routine_ids).values_list("pk", flat=True))
    if not waiting:
        return 0
    states = RoutineState.objects.using(ledger_alias()).filter(pk__in=waiting, next_source=Source.CATCHING_UP)
    woken = _look_again(states, now)
    if woken < len(waiting):
        # Plain SQL can store a kind that is none: the claim looks at it, and parks the routine with that reason.
        woken += states.update(next_run_at=now, next_source=Source.BASELINE_INTERVAL)
    return woken


def continue_after(routine_ids: Collection[int], now: datetime) -> int:
    """The same in a transaction of its own, for those who could not lock the states before the runs.

    A state that somebody else has locked is left to the next pass of the reconciler: a tick does not wait for it.
    """
    ids = list(between_chains().filter(pk__in=routine_ids).values_list("pk", flat=True))
    if not ids:
        return 0
    with bounded():
        return continue_catch_up(lock_free_states(ids), now)


def between_chains() -> QuerySet[RoutineState]:
    """The states of routines that are catching up and have no active run that would tell when to go on."""
    active = RoutineRun.objects.filter(routine_id=OuterRef("pk"), status__in=sorted(ACTIVE))
    catching_up = RoutineState.objects.using(ledger_alias()).filter(next_source=Source.CATCHING_UP)
    return catching_up.filter(~Exists(active))


def _look_again(states: QuerySet[RoutineState], now: datetime) -> int:
    woken = states.filter(next_slot=None).update(next_run_at=None, next_source=Source.ENDED)
    for source, kinds in _by_source().items():
        woken += states.filter(routine__trigger_kind__in=kinds).update(next_run_at=now, next_source=source)
    return woken


def _by_source() -> dict[Source, list[str]]:
    """Which kinds of trigger count their slots in the same way; a MANUAL one by the interval of its hint."""
    kinds: dict[Source, list[str]] = {}
    for kind in TriggerKind:
        kinds.setdefault(BASELINE[kind] or Source.BASELINE_INTERVAL, []).append(kind)
    return kinds
