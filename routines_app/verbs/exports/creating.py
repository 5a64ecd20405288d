"""Creating many routines at once, in the import's transaction. Statements are counted by batches, never by routines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Rotation, Routine, RoutineState
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import baseline_source, plan_slots, replan
from routines_app.protocol.rotate.enrol import enrol
from routines_app.protocol.rotate.left_out import leave_out_archived
from routines_app.verbs.exports.drafts import Draft, New
from routines_app.verbs.rotations.finding import batches
from routines_app.verbs.rotations.writing import By, Progress, insert_routines, record

OF_HISTORY = ("status", "paused_until", "pause_reason")


def create_all(draft: Draft, now: datetime, by: By, progress: Progress) -> None:
    """Routines first, parents before their children; then rotations; then who is a member of which."""
    members = {each.routine.name: each.routine.rotation for each in draft.new if each.routine.rotation is not None}
    for level in _levels(draft):
        for batch in batches(level):
            _create_batch(batch, draft, now)
            progress.add(len(batch))
    _create_rotations(draft.new)
    _join(draft.new, members)
    for batch in batches(draft.new):
        _tell(batch, by)
    joined = [each.routine.pk for each in draft.new if each.routine.name in members]
    enrol(joined, now)
    archived = [each.routine.pk for each in draft.new if each.archived]
    if members and archived:
        leave_out_archived(archived)


def _levels(draft: Draft) -> list[list[New]]:
    """A batch never holds a routine and its parent: the parent's id is not known before it is written."""
    levels: dict[int, list[New]] = {}
    for each in draft.new:
        levels.setdefault(draft.depths[each.routine.name], []).append(each)
    return [levels[depth] for depth in sorted(levels)]


def _create_batch(batch: Sequence[New], draft: Draft, now: datetime) -> None:
    states = []
    for each in batch:
        routine = each.routine
        routine.created_at, routine.depth, routine.rotation = now, draft.depths[routine.name], None
        _refer_again(routine)
        state = RoutineState(routine=routine)
        _plan(each, state, now)
        states.append(state)
    insert_routines([each.routine for each in batch])
    for each, state in zip(batch, states, strict=True):
        state.routine = each.routine  # which has its id now
        each.routine.state = state
    RoutineState.objects.using(ledger_alias()).bulk_create(states)


def _refer_again(routine: Routine) -> None:
    """What came with the file had no id when it was drafted."""
    routine.pool, routine.parent = routine.pool, routine.parent


def _plan(new: New, state: RoutineState, now: datetime) -> None:
    """As if it had been created, and paused or archived a moment later."""
    routine = new.routine
    if new.archived:
        routine.status = RoutineStatus.ARCHIVED
        replan(routine, state, now)
        return
    if new.pause is not None:
        routine.status = RoutineStatus.PAUSED
        routine.paused_until, routine.pause_reason = new.pause.until, new.pause.reason
    plan_slots(routine, state, now)
    if new.owed is not None:
        state.last_slot, state.next_run_at = new.owed.after, new.owed.first
        state.next_source = baseline_source(routine)
        state.set_slot(new.owed.first, state.next_source)


def _create_rotations(new: Sequence[New]) -> None:
    rotations = [each.rotation for each in new if each.rotation is not None]
    for each in new:
        if each.rotation is not None:
            each.rotation.routine = each.routine
    if rotations:
        Rotation.objects.using(ledger_alias()).bulk_create(rotations)


def _join(new: Sequence[New], members: dict[str, Rotation]) -> None:
    """By rotations, which are few: one may be younger than its members' rows, and be one's child."""
    by_rotation: dict[int, list[int]] = {}
    for each in new:
        if (rotation := members.get(each.routine.name)) is not None:
            each.routine.rotation = rotation
            by_rotation.setdefault(rotation.pk, []).append(each.routine.pk)
    for rotation_id, ids in sorted(by_rotation.items()):
        for batch in batches(ids):
            Routine.objects.using(ledger_alias()).filter(AnyOf("pk", batch)).update(rotation_id=rotation_id)


def _tell(batch: Sequence[New], by: By) -> None:
    routines = [each.routine for each in batch]
    after = [each.cleaned | each.own | _status(each) for each in batch]
    record(ChangeKind.CREATED, routines, [each.state for each in routines], by, after=after)


def _status(new: New) -> dict[str, Any]:
    """What a person should find who asks why it does not fire."""
    if new.routine.status == RoutineStatus.ACTIVE:
        return {}
    found = {field: getattr(new.routine, field) for field in OF_HISTORY}
    return {field: value for field, value in found.items() if value}
