"""Editing a routine.

An edit of the schedule leaves the rows that exist alone, writes the slots that were due and not yet fired as SKIPPED
(`superseded`), and plans from now on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from routines_app.core.errors import NotAllowed, StaleVersion
from routines_app.core.said import said
from routines_app.core.words import TRIGGER_FIELDS, Reason, TriggerKind
from routines_app.models import ChangeKind, Routine, RoutineState
from routines_app.protocol.end.line import look_at_all
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.leaving import change_plan
from routines_app.protocol.rotate.enrol import enrol
from routines_app.verbs import family
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import Integer
from routines_app.verbs.checking.triggers import refuse_past
from routines_app.verbs.checking.validation import SCHEDULE_FIELDS, clean_changes, refuse_declared
from routines_app.verbs.create import refuse_duplicate
from routines_app.verbs.editing import Edit, editing, refuse_archived
from routines_app.verbs.second_opinion import tell_second_opinion

GRID_FIELDS = frozenset({"trigger_kind", "interval_ms", "start_at"})
# What a rotation keeps a copy of, or counts phases by.
MEMBER_FIELDS = frozenset({"rotation", "phases", "priority", "emphasis", "depth"})


def update_routine(
    routine: RoutineRef,
    *,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
    **changes: Any,
) -> Routine:
    """Change fields of a routine; `cron`, `every` and `at` replace each other, empty ones make it MANUAL.

    A new `at` (or `once_at`, its field) is a moment to come, also after an earlier one has fired: it is one more slot.

    `version`, or that of the given instance, must be the stored one: an edit made on a stale version is refused.
    Of a routine that is declared in code all but name and task can be changed; it stays so until `give_back`.
    `allow_unknown_task` is as in `create_routine`.
    """
    return apply_changes(
        routine, changes, version=version, actor=actor, reason=reason, allow_unknown_task=allow_unknown_task
    )


def apply_changes(
    ref: RoutineRef,
    values: dict[str, Any],
    *,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
) -> Routine:
    if "task" in values:
        registered_tasks()  # imports task modules the first time: not while holding a lock
    expected = expected_version(ref, version)
    with editing(ref, actor=actor, reason=reason) as edit:
        refuse_stale(edit.routine, expected)
        refuse_archived(edit.routine, said("an archived routine cannot be changed; create a new one"))
        changes = clean_changes(edit.routine, values, allow_unknown_task=allow_unknown_task)
        if edit.routine.is_declared_in_code:
            refuse_declared(edit.routine, changes)
        refuse_past(changes.get("once_at"), edit.now, "at" if "at" in values else "once_at")
        if changes:
            write(edit, changes)
    return edit.routine


def expected_version(ref: RoutineRef, version: int | None) -> int | None:
    if version is not None:
        return Integer(least=1, most=2**31 - 1)("version", version)
    return ref.version if isinstance(ref, Routine) else None


def refuse_stale(routine: Routine, expected: int | None) -> None:
    if expected is not None and expected != routine.version:
        raise StaleVersion(
            "version",
            expected,
            said("{routine} is at version {version}: read it again", routine=routine.name, version=routine.version),
        )


def write(edit: Edit, changes: dict[str, Any]) -> None:
    """Changes that are checked, and are some. The state is locked."""
    routine = edit.routine
    if "name" in changes:
        refuse_duplicate(changes["name"])
    if changes.get("rotation") is not None:
        _refuse_hinted(edit)
    if "parent" in changes:
        changes = changes | {"depth": family.depth_under(routine, changes["parent"])}
    before = {field: getattr(routine, field) for field in changes}
    if SCHEDULE_FIELDS.isdisjoint(changes):
        _set(edit, changes)
    else:
        change_plan(routine, edit.state, edit.now, Reason.SUPERSEDED, lambda: _set_schedule(edit, changes))
        edit.save_state()
    if "concurrency_policy" in changes:
        look_at_all(routine.pk, edit.now)
    if not MEMBER_FIELDS.isdisjoint(changes) and (routine.rotation_id is not None or "rotation" in changes):
        enrol([routine.pk], edit.now)
    edit.record(ChangeKind.UPDATED, before=before, after=changes)
    if not set(TRIGGER_FIELDS).isdisjoint(changes):
        tell_second_opinion(routine, edit.now)


def _refuse_hinted(edit: Edit) -> None:
    if edit.state.fresh_hints(edit.now):
        expected = said("a rotation's members take no hints, and it has some: clear its hints first")
        raise NotAllowed("rotation", edit.routine.name, expected)


def _set(edit: Edit, changes: dict[str, Any]) -> None:
    for field, value in changes.items():
        setattr(edit.routine, field, value)
    save_changes(edit, changes)
    if "depth" in changes:
        family.move_descendants(edit.routine.pk, edit.routine.depth, edit.now)


def _set_schedule(edit: Edit, changes: dict[str, Any]) -> None:
    _set(edit, changes)
    edit.state.last_slot, edit.state.grid_from = counted_from(
        edit.routine, edit.state, moved=not GRID_FIELDS.isdisjoint(changes)
    )


def save_changes(edit: Edit, changes: dict[str, Any]) -> None:
    """Compare-and-set on the version: it also holds against writers that do not take the state's lock."""
    routine = edit.routine
    stored = Routine.objects.using(ledger_alias()).filter(pk=routine.pk, version=routine.version)
    try:
        with transaction.atomic(using=ledger_alias()):
            won = stored.update(**changes, version=routine.version + 1, updated_at=edit.now)
    except IntegrityError:
        if "name" in changes:
            refuse_duplicate(changes["name"])
        raise
    if not won:
        raise StaleVersion(
            "version", routine.version, said("{routine} was changed meanwhile: read it again", routine=routine.name)
        )
    routine.version += 1


def counted_from(routine: Routine, state: RoutineState, *, moved: bool) -> tuple[datetime | None, datetime | None]:
    """What an edited schedule counts on from: its last slot, and its grid.

    An interval that has a start is counted from there; another one from the last slot, if the edit `moved` its grid.
    """
    if routine.trigger_kind != TriggerKind.INTERVAL:
        return state.last_slot, None
    if routine.start_at is not None:
        return None, None
    return state.last_slot, state.last_slot if moved else state.grid_from
