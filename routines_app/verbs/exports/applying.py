"""Changing, pausing and archiving what is there, in the import's transaction: each routine as the verbs do it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_or_make_state, lock_states
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.checking.lookup import find_routine
from routines_app.verbs.editing import Edit
from routines_app.verbs.exports.drafts import Changed, Draft
from routines_app.verbs.exports.wanted import Pause
from routines_app.verbs.pause import pause_routine
from routines_app.verbs.resume import resume_routine
from routines_app.verbs.rotations.finding import batches
from routines_app.verbs.rotations.freshness import stay_fresh
from routines_app.verbs.rotations.placing import at_item
from routines_app.verbs.rotations.update import write_own
from routines_app.verbs.rotations.writing import By, Progress
from routines_app.verbs.update import write

States = dict[int, RoutineState]


def lock_all(routine_ids: list[int]) -> States:
    """Their states, locked in the order of their ids."""
    found = {state.pk: state for batch in batches(routine_ids) for state in lock_states(batch)}
    for routine_id in routine_ids:
        if routine_id not in found:
            found[routine_id] = lock_or_make_state(routine_id)
    return found


def change_all(draft: Draft, states: States, now: datetime, by: By, progress: Progress) -> None:
    """From the top of the tree down: when one gets its parent, all above that are where they will be."""
    for each in sorted(draft.changed, key=lambda one: (draft.depths.get(one.routine.name, 0), one.routine.pk)):
        with at_item(f"{each.routine.name}"):
            _change(each, states[each.routine.pk], now, by)
        progress.add(1)


def _change(changed: Changed, state: RoutineState, now: datetime, by: By) -> None:
    routine = changed.routine
    if changed.archived:
        archive_routine(routine.pk, actor=by.actor, reason=by.reason)
        return
    routine.state, state.routine = state, routine
    edit = Edit(routine=routine, state=state, now=now, actor=by.actor, reason=by.reason)
    if changed.changes:
        write(edit, changed.changes | _parent(changed.changes))
    if changed.own:
        _change_rotation(edit, changed.own)
    match changed.pause:
        case Pause(reason=reason, until=until):
            pause_routine(routine.pk, until=until, reason=reason, actor=by.actor)
        case False:
            _resume(routine, by)


def _parent(changes: dict[str, Any]) -> dict[str, Any]:
    """Read again: those above it may have been moved by this import."""
    parent = changes.get("parent")
    return {} if parent is None else {"parent": find_routine(parent.pk)}


def _change_rotation(edit: Edit, own: dict[str, Any]) -> None:
    stored = Rotation.objects.using(ledger_alias()).get(pk=edit.routine.pk)
    write_own(edit, stored, own)
    stored.routine = edit.routine

    def mend_members() -> None:  # no partial: Django logs the name of what fails
        stay_fresh(stored, Progress(None))

    if "fresh_for_ms" in own:
        on_commit(mend_members, robust=True)  # what is imported stays so


def _resume(routine: Routine, by: By) -> None:
    """The slots of the pause are skipped."""
    if find_routine(routine.pk).status == RoutineStatus.PAUSED:
        resume_routine(routine.pk, actor=by.actor, reason=by.reason)
