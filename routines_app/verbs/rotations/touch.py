"""Touching members: they are owed now, however fresh they are."""

from __future__ import annotations

from collections.abc import Iterable

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.rotate import touch as rotate
from routines_app.verbs.checking.lookup import RotationRef, RoutineRef, find_rotation
from routines_app.verbs.editing import editing, refuse_archived
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.finding import all_members, batches, members_of
from routines_app.verbs.rotations.writing import By, Progress, Told


def touch(member: RoutineRef, *, actor: str = "", reason: str = "") -> Routine:
    """Make a member owed now, also one that waits after a failure. One that is in flight or owed stays so."""
    with editing(member, actor=actor, reason=reason) as edit:
        if edit.routine.rotation_id is None:
            raise NotAllowed("member", edit.routine.name, said("it is no rotation's member"))
        refuse_archived(edit.routine, said("an archived routine is never owed"))
        if rotate.touch_members([edit.routine.pk], edit.now):
            edit.record(ChangeKind.UPDATED, after={"touched": True})
    return edit.routine


def touch_members(
    rotation: RotationRef,
    members: Iterable[RoutineRef] | None = None,
    *,
    actor: str = "",
    reason: str = "",
    progress: Told | None = None,
) -> int:
    """Make these members owed now, or all; how many were not. In batches; the rotation's history says how many."""
    by, found, told = By.checked(actor, reason), find_rotation(rotation), Progress(progress)
    ids = all_members(found) if members is None else members_of(found, members, "members")
    touched = 0
    for batch in batches(ids):
        with verb_transaction("rotation", found.name):
            touched += rotate.touch_members(batch, clock.now())
        told.add(len(batch))
    if touched:
        with editing(found.pk, actor=by.actor, reason=by.reason) as edit:
            edit.record(ChangeKind.UPDATED, after={"touched": touched})
    return touched
