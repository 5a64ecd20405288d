"""Deleting an archived routine with its history."""

from __future__ import annotations

from collections.abc import Callable

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_state
from routines_app.verbs import family
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.membership import is_rotation
from routines_app.verbs.editing import editing
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.dissolve import dissolve

DELETE_BATCH = 1_000  # rows per transaction: short locks, steady progress


def delete_routine(
    routine: RoutineRef, *, progress: Callable[[int], None] | None = None, actor: str = "", reason: str = ""
) -> int:
    """Delete an ARCHIVED routine with its history, in batches; `progress` is told how many runs are gone so far.

    Returns how many runs it had. An interruption leaves the routine ARCHIVED with what is left; call it again. The
    members of a rotation whose own routine it is stay, and name it no longer.
    """
    found = find_routine(routine)
    _refuse_delete(found)
    if is_rotation(found):
        dissolve(found.pk, actor=actor, reason=reason)
    deleted = 0
    while batch := _delete_batch(found):
        deleted += batch
        if progress is not None:
            progress(deleted)
    with editing(found, actor=actor, reason=reason) as edit:
        _refuse_delete(edit.routine)
        edit.record(ChangeKind.DELETED, before={"id": found.pk})
        family.lose_parent(found.pk, edit.now)
        edit.routine.delete(using=ledger_alias())
    return deleted


def _refuse_delete(routine: Routine) -> None:
    if routine.status != RoutineStatus.ARCHIVED:
        raise NotAllowed("status", routine.status, said("only an ARCHIVED routine can be deleted: archive it first"))
    active = RoutineRun.objects.using(ledger_alias()).filter(routine_id=routine.pk, status__in=sorted(ACTIVE))
    if active.exists():
        raise NotAllowed(
            "runs", routine.name, said("it still has runs that have not ended: wait for them or cancel them")
        )


def _delete_batch(routine: Routine) -> int:
    """Judged again behind the state's lock: code may have declared the routine again, and its runs live."""
    runs = RoutineRun.objects.using(ledger_alias())
    ids = list(runs.filter(routine_id=routine.pk).order_by("id").values_list("pk", flat=True)[:DELETE_BATCH])
    if ids:
        with verb_transaction("routine", routine.name):
            lock_state(routine.pk)
            _refuse_delete(find_routine(routine.pk))
            runs.filter(pk__in=ids).delete()
    return len(ids)
