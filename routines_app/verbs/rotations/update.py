"""Changing a rotation, and what its own routine has of it: name, trigger and the like."""

from __future__ import annotations

from typing import Any

from routines_app.core.rotation import AWAKE
from routines_app.core.said import said
from routines_app.models import ChangeKind, Rotation, Routine
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.checking.validation import clean_changes
from routines_app.verbs.editing import Edit, editing, follow, refuse_archived
from routines_app.verbs.rotations.fields import cleaned, split, with_room
from routines_app.verbs.rotations.freshness import stay_fresh
from routines_app.verbs.rotations.writing import Progress, Told
from routines_app.verbs.update import expected_version, refuse_stale, save_changes, write


def update_rotation(
    rotation: RotationRef,
    *,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
    progress: Told | None = None,
    **changes: Any,
) -> Rotation:
    """Change a rotation: what `create_rotation` takes, its name too. `version` is that of its own routine.

    Where as many are in flight as the budget says, this goes on to be so when only the budget is changed. A new
    `fresh_for` holds also for members that are fresh already: they get it after the change, in batches, and `progress`
    is told how many have it. Whoever is interrupted then calls it again, with any changes or none.
    """
    found = find_rotation(rotation)
    expected = expected_version(_own_routine(rotation, found), version)
    own, of_routine = split(changes)
    if not own.keys().isdisjoint({"task", "member_task", "phases", "seed"}):
        registered_tasks()  # imports task modules the first time: not while holding a lock
    checked = cleaned(own, allow_unknown_task=allow_unknown_task)
    with editing(found.pk, actor=actor, reason=reason) as edit:
        refuse_stale(edit.routine, expected)
        refuse_archived(edit.routine, said("an archived routine cannot be changed; create a new rotation"))
        # Not locked: nobody else writes these columns without the state, and members' rows come before this one.
        stored = Rotation.objects.using(ledger_alias()).get(pk=found.pk)
        routine_changes = clean_changes(edit.routine, of_routine)
        if routine_changes:
            write(edit, routine_changes)
        write_own(edit, stored, with_room(checked, stored) if checked else {})
    stored.routine = edit.routine
    if isinstance(rotation, Rotation):
        follow(rotation, stored)
        rotation.routine = edit.routine
    on_commit(lambda: stay_fresh(stored, Progress(progress)))
    return stored


def _own_routine(rotation: RotationRef, found: Rotation) -> Routine | int:
    """The caller's instance, if there is one: an edit that was made on a stale one is refused."""
    if isinstance(rotation, Rotation):
        return rotation.routine
    return rotation if isinstance(rotation, Routine) else found.pk


def write_own(edit: Edit, stored: Rotation, checked: dict[str, Any]) -> None:
    """Those of the columns that differ. The state of the rotation's own routine is locked."""
    changes = {column: value for column, value in checked.items() if getattr(stored, column) != value}
    if not changes:
        return
    before = {column: getattr(stored, column) for column in changes}
    # By what is new some may be owed at once: the next tick looks.
    awake = {"idle_multiplier": AWAKE.multiplier, "skip_ticks": AWAKE.skip_ticks}
    for column, value in (changes | awake).items():
        setattr(stored, column, value)
    stored.save(using=ledger_alias(), update_fields=[*changes, *awake])
    save_changes(edit, {})
    edit.record(ChangeKind.UPDATED, before=before, after=changes)
