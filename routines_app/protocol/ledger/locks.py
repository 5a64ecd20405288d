"""Row locks: every row of ours is locked here, or by a SQL statement that keeps the same order.

The order, for everybody: routine states, then pools, runs, members, rotations, each kind in the order of its ids.
Whoever holds a pool never asks for a state; a claim, which has its states already, may ask for pools. A batch of pauses
is locked before the states of its routines, by those alone who fill or resume it. The runs of an exclusive routine are
kept apart by its state, so whoever holds that may lock them in turns. A lock is taken in one of two ways:

* waiting, by those who must have the row: a verb, the end of a run; a start too, for a moment;
* skipping (SKIP LOCKED), by beats, who rather come back than wait. Where the database cannot skip, it waits.

A new row that refers to another (a run to its routine and its pool) needs that row's key, which a stranger may hold
(`SELECT … FOR UPDATE`). A beat asks for the keys of a batch first, skipping too, and leaves those routines out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import connections, transaction
from django.db.models import Model, QuerySet

from routines_app.models import PauseBatch, Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias

Row = TypeVar("Row", bound=Model)
Id = TypeVar("Id", int, UUID)

_SHARED = {
    "postgresql": "FOR SHARE SKIP LOCKED",
    "mariadb": "LOCK IN SHARE MODE SKIP LOCKED",
    "mysql": "FOR SHARE SKIP LOCKED",
}
_KEY_SHARED = _SHARED | {"postgresql": "FOR KEY SHARE SKIP LOCKED"}
_KEY_KEPT = {kind: clause.removesuffix(" SKIP LOCKED") for kind, clause in _KEY_SHARED.items()}


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


def lock_states(routine_ids: Collection[int]) -> list[RoutineState]:
    """The states of these routines, locked in the order of their ids. Waits."""
    states = RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids)).order_by("pk")
    return list(states.select_for_update())


def lock_or_make_states(routine_ids: Collection[int]) -> list[RoutineState]:
    """The same for routines of which a plain insert may have left the state out: it is made up for. Waits."""
    found = lock_states(routine_ids)
    if len(found) == len(routine_ids):
        return found
    missing = keep_keys(Routine, set(routine_ids) - {state.pk for state in found})
    made = [RoutineState(routine_id=routine_id) for routine_id in sorted(missing)]
    RoutineState.objects.using(ledger_alias()).bulk_create(made, ignore_conflicts=True)
    return lock_states(routine_ids)


def lock_batch(batch_id: int) -> PauseBatch | None:
    """The batch of pauses, locked: whoever fills or resumes it does so alone. Waits. Comes before all other locks."""
    return waiting_locked(PauseBatch.objects.using(ledger_alias()).filter(pk=batch_id), keys=False).first()


def lock_free_states(routine_ids: Collection[int]) -> set[int]:
    """Lock the states that nobody else has locked; whose they are."""
    if not routine_ids:
        return set()
    states = RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids)).order_by("pk")
    return set(skipping_locked(states).values_list("pk", flat=True))


class LockedPool(NamedTuple):
    """A pool, as it is behind its lock."""

    ceiling: int
    is_default: bool | None


def lock_free_pools(pool_ids: Collection[int]) -> dict[int, LockedPool]:
    """Lock the pools that nobody else has locked; by id. Room is counted under this lock."""
    pools = Pool.objects.using(ledger_alias()).filter(AnyOf("pk", pool_ids)).order_by("pk")
    # A lock on the key would keep everybody from writing runs of the pool meanwhile.
    locked = skipping_locked(pools, keys=False).values_list("pk", "max_concurrent", "is_default")
    return {pool_id: LockedPool(ceiling, is_default) for pool_id, ceiling, is_default in locked}


def free_keys(model: type[Model], ids: Collection[int]) -> set[int]:
    """Those of the rows that new rows may refer to now; they stay so until the commit."""
    return _share(model, ids, _KEY_SHARED)


def keep_keys(model: type[Model], ids: Collection[int]) -> set[int]:
    """The same, for whoever must know: those of the rows that are (still) there. Waits, as the new row would."""
    return _share(model, ids, _KEY_KEPT)


def unheld(model: type[Model], ids: Collection[Id]) -> set[Id]:
    """Those of the rows that nobody is writing on; whoever asks the same at this moment is not taken for a writer."""
    return _share(model, ids, _SHARED)


def _share(model: type[Model], ids: Collection[Id], clauses: Mapping[str, str]) -> set[Id]:
    """Those of the rows that could be locked together with others who only share them."""
    alias = ledger_alias()
    connection = connections[alias]
    clause = clauses.get(_kind_of(connection))
    if clause is None or not ids:
        return set(ids)
    rows = model._default_manager.using(alias).filter(AnyOf("pk", ids)).order_by("pk").values_list("pk")
    statement, arguments = rows.query.get_compiler(alias).as_sql()
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} {clause}", arguments)
        return {model._meta.pk.to_python(found) for (found,) in cursor.fetchall()}


def _kind_of(connection: Any) -> str:
    if connection.vendor == "mysql" and connection.mysql_is_mariadb:
        return "mariadb"
    return str(connection.vendor)


def lock_run(runs: QuerySet[RoutineRun], run_id: UUID) -> RoutineRun | None:
    """The run, locked; None when it is not one of these (any more). Waits."""
    return runs.select_for_update().filter(id=run_id).first()


def lock_runs(runs: QuerySet[RoutineRun], run_ids: Collection[UUID]) -> list[UUID]:
    """Lock those of the runs, one after another: an update of several would take its locks in any order. Waits."""
    if not run_ids:
        return []
    if _locks_what_it_reads():
        run_ids = list(_by_id(run_ids).order_by("id").select_for_update().values_list("id", flat=True))
    locked = runs.filter(AnyOf("id", run_ids)).order_by("id").select_for_update(of=_only_these())
    return list(locked.values_list("id", flat=True))


def update_if(runs: QuerySet[RoutineRun], run_ids: Collection[UUID], **values: Any) -> int:
    """Compare and set: update those of the runs that are (still) among these; how many there were. Waits."""
    if not _locks_what_it_reads():
        return runs.filter(AnyOf("id", run_ids)).update(**values)
    with transaction.atomic(using=ledger_alias()):
        return update_locked(lock_runs(runs, run_ids), **values)


def update_locked(run_ids: Collection[UUID], **values: Any) -> int:
    """Update runs that the caller has locked, and so knows: by nothing but their ids."""
    return _by_id(run_ids).update(**values) if run_ids else 0


def update_in_order(runs: QuerySet[RoutineRun], **values: Any) -> int:
    """Update several runs that somebody else may be updating too: locked one after another first. Waits.

    Inside a transaction; a beat's has a limit.
    """
    if _locks_what_it_reads():
        return update_locked(lock_runs(runs, list(runs.values_list("id", flat=True))), **values)
    ids = list(runs.order_by("id").select_for_update(of=_only_these()).values_list("id", flat=True))
    return update_locked(ids, **values)


def update_free(runs: QuerySet[RoutineRun], **values: Any) -> int:
    """The same for those of the runs that nobody else has locked."""
    return update_locked(lock_free_runs(runs), **values)


def lock_free_runs(runs: QuerySet[RoutineRun], most: int | None = None) -> list[UUID]:
    """Lock those of the runs that nobody else has locked, the oldest of them if there are more; which."""
    in_order = runs.order_by("id")
    if _locks_what_it_reads():
        found = _by_id(list(in_order.values_list("id", flat=True)[:most]))
        return lock_runs(runs, list(skipping_locked(found.order_by("id")).values_list("id", flat=True)))
    return list(skipping_locked(in_order, keys=False).values_list("id", flat=True)[:most])


def _by_id(run_ids: Collection[UUID]) -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(AnyOf("id", run_ids))


def _locks_what_it_reads() -> bool:
    """MariaDB and MySQL lock the entries of the index by which they find a row, before the row itself.

    Asked for ids and a status they go by the status; whoever has the row and changes its status wants the same two
    locks in the other order, and one of both is ended as a deadlock. So there a row is locked by its id alone, and
    compared and updated when it is ours.
    """
    return connections[ledger_alias()].vendor == "mysql"


def waiting_locked(rows: QuerySet[Row], *, keys: bool = True) -> QuerySet[Row]:
    """The rows, locked when read, in the order of their ids. Waits.

    Without `keys`, others may still insert rows that refer to these, where the database can tell that from a change.
    """
    features = connections[ledger_alias()].features
    return rows.order_by("pk").select_for_update(no_key=not keys and features.has_select_for_no_key_update)


def skipping_locked(rows: QuerySet[Row], *, keys: bool = True) -> QuerySet[Row]:
    """The rows, locked when read; those that somebody else has locked are left out where the database can do that.

    Without `keys`, others may still insert rows that refer to these, and one to which somebody's new row refers is not
    left out: for whoever does not delete them.
    """
    features = connections[ledger_alias()].features
    return rows.select_for_update(
        skip_locked=features.has_select_for_update_skip_locked,
        of=_only_these(),
        no_key=not keys and features.has_select_for_no_key_update,
    )


def _only_these() -> tuple[str, ...]:
    """Not the rows that they are joined with, where the database can tell."""
    return ("self",) if connections[ledger_alias()].features.has_select_for_update_of else ()
