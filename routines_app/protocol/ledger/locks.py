"""Row locks: every row that the protocol locks, it locks here, or in a SQL statement that keeps the same order.

The order, for everybody: routine states, then pools, then runs, each kind in the order of its ids. Whoever holds a pool
never asks for a state; a claim, which has its states already, may ask for pools. The runs of an exclusive routine are
kept apart by its state, so whoever holds that may lock them in turns. A lock is taken in one of two ways:

* waiting, by those who must have the row: a verb, a start, the end of a run;
* skipping (SKIP LOCKED), by beats, who rather come back than wait. Where the database cannot skip, it waits.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar
from uuid import UUID

from django.db import connections
from django.db.models import Model, QuerySet

from routines_app.models import Pool, RoutineRun, RoutineState
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias

Row = TypeVar("Row", bound=Model)


def lock_state(routine_id: int) -> RoutineState | None:
    """The routine's state, locked; None when the routine is gone, or a plain insert has left its state out. Waits."""
    return RoutineState.objects.using(ledger_alias()).select_for_update().filter(pk=routine_id).first()


def lock_or_make_state(routine_id: int) -> RoutineState:
    """The same for a routine that is there: a state that was left out is made up for. Waits."""
    found = lock_state(routine_id)
    if found is None:
        states = RoutineState.objects.using(ledger_alias())
        states.bulk_create([RoutineState(routine_id=routine_id)], ignore_conflicts=True)
        found = states.select_for_update().get(pk=routine_id)
    return found


def lock_free_states(routine_ids: Collection[int]) -> set[int]:
    """Lock the states that nobody else has locked; whose they are."""
    if not routine_ids:
        return set()
    states = RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids)).order_by("pk")
    return set(skipping_locked(states).values_list("pk", flat=True))


def lock_free_pools(pool_ids: Collection[int]) -> dict[int, int]:
    """Lock the pools that nobody else has locked; their ceilings by id. Room is counted under this lock."""
    pools = Pool.objects.using(ledger_alias()).filter(AnyOf("pk", pool_ids)).order_by("pk")
    # A lock on the key would keep everybody from writing runs of the pool meanwhile.
    return dict(skipping_locked(pools, keys=False).values_list("pk", "max_concurrent"))


def lock_run(runs: QuerySet[RoutineRun], run_id: UUID) -> RoutineRun | None:
    """The run, locked; None when it is not one of these (any more). Waits."""
    return runs.select_for_update().filter(id=run_id).first()


def lock_runs(runs: QuerySet[RoutineRun], run_ids: Collection[UUID]) -> list[UUID]:
    """Lock those of the runs, one after another: an update of several would take its locks in any order. Waits."""
    if not run_ids:
        return []
    locked = runs.filter(AnyOf("id", run_ids)).order_by("id").select_for_update()
    return list(locked.values_list("id", flat=True))


def skipping_locked(rows: QuerySet[Row], *, keys: bool = True) -> QuerySet[Row]:
    """The rows, locked when read; those that somebody else has locked are left out where the database can do that.

    Without `keys`, others may still insert rows that refer to these.
    """
    features = connections[ledger_alias()].features
    return rows.select_for_update(
        skip_locked=features.has_select_for_update_skip_locked,
        of=("self",) if features.has_select_for_update_of else (),  # not the rows that it is joined with
        no_key=not keys and features.has_select_for_no_key_update,
    )
