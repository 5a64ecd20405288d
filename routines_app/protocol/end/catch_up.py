"""ALL catch-up goes on: when the chain of one missed slot has ended, the next one may fire."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Case, Exists, F, OuterRef, QuerySet, Value, When

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Source
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
    return _look_again(states, now)


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
    """At the slot that waited, for the reason that it was chosen for."""
    ended = states.filter(next_slot=None).update(next_run_at=None, next_source=Source.ENDED)
    # A slot that plain SQL has set has no source: the claim takes it for the trigger's own.
    nobody_said = When(slot_source="", then=Value(Source.BASELINE_INTERVAL.value))
    return ended + states.update(next_run_at=now, next_source=Case(nobody_said, default=F("slot_source")))
