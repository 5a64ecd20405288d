"""Routines that are declared in code, kept in step with the ledger: a Celery app's `beat_schedule`, and `@routine`.

A routine belongs to whoever declares it (its scope): an app's schedule, or the project's code. Code says fields; people
may pause, run and hint it and change all but its name and task, and what they have changed stays until they give it
back (`checking/code_says.py`). What code says is noted beside it meanwhile. What it does not say any more is as a
routine has it by itself. One that nobody declares any more is archived after a while, and comes back when it is
declared again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_or_make_state, skipping_locked
from routines_app.protocol.plan.hints import plan_anew
from routines_app.protocol.record.changes import BEAT, Process
from routines_app.protocol.rotate.left_out import bring_back
from routines_app.protocol.upkeep.archived import cancel_waiting, has_waiting
from routines_app.verbs.adopt import adopt, holders, is_code, is_to_adopt, refuse_in_both
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.checking.code_says import (
    as_declared,
    declared_values,
    default,
    differences,
    edited,
    said_before,
)
from routines_app.verbs.checking.known_tasks import task_name
from routines_app.verbs.checking.validation import RULED_TOGETHER, clean_changes, clean_new, is_same
from routines_app.verbs.create import insert
from routines_app.verbs.editing import Edit, editing
from routines_app.verbs.pause import pause_routine
from routines_app.verbs.update import write

logger = logging.getLogger(__name__)

# What only the database can tell, and a task is looked for among those of this process.
IN_THE_LEDGER = ("pool", "parent", "rotation", "phases", "task")


def declare_routine(
    name: str, fields: dict[str, Any], scope: str, *, actor: Process = BEAT, adopter: str | None = None
) -> Routine:
    """Make the routine what the code says.

    A name that is taken by somebody else gets the scope added, for an entry of `beat_schedule`. For the project's code
    it is refused, or that routine is adopted (`adopt.py`): `adopter` is who has asked for that.
    """
    routine = find_declared(name, scope) or _adopted(name, fields, scope, actor, adopter)
    if routine is None:
        try:
            return _create(name, fields, scope, actor)
        except DuplicateName:
            routine = find_declared(name, scope)
            if routine is None:
                raise
            # Another beat, or `migrate`, has made it between the look and the insert.
    stated = stated_of(routine, fields)
    if routine.status == RoutineStatus.ARCHIVED:
        _revive(routine, actor)
    elif is_followed(routine, stated):
        return routine  # as a rule: without a lock
    return _follow(routine.pk, stated, actor)


def find_declared(name: str, scope: str) -> Routine | None:
    own = Routine.objects.using(ledger_alias()).filter(declared_in=scope, name__in=spelled([name], scope))
    return own.first()


def declared_in(scope: str) -> Iterable[Routine]:
    """All that the scope has ever declared."""
    return Routine.objects.using(ledger_alias()).filter(declared_in=scope).order_by("name")


def check_declared(fields: dict[str, Any]) -> None:
    """Refuse what could not be declared, as far as that can be known without asking the database."""
    task_name("task", fields["task"])
    clean_new({name: value for name, value in fields.items() if name not in IN_THE_LEDGER})


def stated_of(routine: Routine, fields: dict[str, Any]) -> dict[str, Any]:
    """All that code says about it, checked. A task that it has already is not looked for again."""
    task = task_name("task", fields["task"])
    given = {name: value for name, value in fields.items() if name != "task" or task != routine.task}
    return clean_new(given, allow_unknown_task=True) | {"task": task}


def is_followed(routine: Routine, stated: dict[str, Any]) -> bool:
    """Whether there is nothing to do: what code says is noted, and whatever differs is a person's, or waits for one."""
    if not is_same(declared_values(routine), as_declared(stated)):
        return False
    return differences(routine).keys() <= edited(routine) or not to_follow(routine, stated).changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What has to change for a routine to be what code says, but for what people have changed."""

    changes: dict[str, Any]
    in_the_way: str = ""
    """Which edits keep other fields from following, in words."""


def to_follow(routine: Routine, stated: dict[str, Any]) -> Following:
    """A field that cannot be what code says beside an edit waits until that is given back; the others do not."""
    unsaid = Routine()
    gone = {field: default(field, unsaid) for field in said_before(routine) - stated.keys()}
    kept = edited(routine)
    wanted = {field: value for field, value in (gone | stated).items() if field not in {"name", *kept}}
    try:
        return Following(changes=clean_changes(routine, wanted, allow_unknown_task=True))
    except InvalidValue:
        touched = [group for group in RULED_TOGETHER if not (group.isdisjoint(kept) or group.isdisjoint(wanted))]
        for group in [*touched, frozenset[str]().union(*touched)] if touched else ():
            with suppress(InvalidValue):
                return _following_but_for(group, routine, wanted, kept)
        raise


def _following_but_for(group: frozenset[str], routine: Routine, wanted: dict[str, Any], kept: set[str]) -> Following:
    rest = {field: value for field, value in wanted.items() if field not in group}
    waiting, edits = (", ".join(sorted(group & fields)) for fields in (wanted.keys(), kept))
    told = f"{waiting} cannot follow beside what people have changed: {edits}"
    return Following(changes=clean_changes(routine, rest, allow_unknown_task=True), in_the_way=told)


def _adopted(name: str, fields: dict[str, Any], scope: str, actor: Process, adopter: str | None) -> Routine | None:
    holder = next(iter(holders([name], scope)), None) if is_code(scope) else None
    if holder is None or not is_to_adopt(holder, fields, is_asked=adopter is not None):
        return None
    adopt(holder, stated_of(holder, fields), scope, actor if adopter is None else adopter)
    return find_declared(name, scope)


def _create(name: str, fields: dict[str, Any], scope: str, actor: Process) -> Routine:
    refuse_in_both(name, fields, scope)
    # Not one of this scope: whoever has made that since the look has made this one, and there must not be two.
    taken = any(holders([name], scope))
    values = {**fields, "name": _scoped(name, scope) if taken else name}
    stated = clean_new(values, allow_unknown_task=True)
    return insert(stated, actor=actor, reason="declared in code", declared_in=scope, declared=as_declared(stated))


def _follow(routine_id: int, stated: dict[str, Any], actor: Process) -> Routine:
    with editing(routine_id, actor=actor, reason="changed in code") as edit:
        following = to_follow(edit.routine, stated)
        if following.in_the_way:
            logger.warning("routine %s: %s", edit.routine.name, following.in_the_way)
        if following.changes:
            write(edit, following.changes)
        _note(edit, as_declared(stated))
    return edit.routine


def _note(edit: Edit, declared: dict[str, Any]) -> None:
    """Not an edit of the routine: whoever has a form of it open may go on."""
    if not is_same(declared_values(edit.routine), declared):
        Routine.objects.using(ledger_alias()).filter(pk=edit.routine.pk).update(declared=declared)
        edit.routine.declared = declared


def note_declared(names: Collection[str], scope: str, now: datetime) -> int:
    """These are still declared. Those that somebody holds are noted the next time."""
    routines = Routine.objects.using(ledger_alias()).filter(declared_in=scope, name__in=spelled(names, scope))
    routines = routines.exclude(declared_seen_at__gt=now)  # adopted, and kept for a slow deployment
    free = list(skipping_locked(routines.order_by("pk"), keys=False).values_list("pk", flat=True))
    return routines.filter(pk__in=free).update(declared_seen_at=now)


def undeclared(names: Collection[str], scope: str, not_seen_since: datetime) -> list[tuple[int, str]]:
    """The ids and names of what no live beat of the scope has declared since then, and the caller does not either.

    One that the caller declares may have been held whenever somebody wanted to note that.
    """
    gone = Routine.objects.using(ledger_alias()).filter(declared_in=scope, declared_seen_at__lt=not_seen_since)
    gone = gone.exclude(name__in=spelled(names, scope))
    return list(gone.exclude(status=RoutineStatus.ARCHIVED).order_by("pk").values_list("pk", "name"))


def archive_undeclared(routine_id: int, *, not_seen_since: datetime | None = None, actor: Process = BEAT) -> bool:
    """Whether it is archived now. With `not_seen_since` one that has been declared since, or archived, is left alone.

    That is asked behind the lock that `note_declared` needs: of a beat that declares it and one that does not, the
    second finds what the first has done.
    """
    with transaction.atomic(using=ledger_alias()):
        if not_seen_since is not None:
            lock_or_make_state(routine_id)
            gone = Routine.objects.using(ledger_alias()).filter(pk=routine_id, declared_seen_at__lt=not_seen_since)
            gone = gone.exclude(status=RoutineStatus.ARCHIVED).order_by("pk")
            if not skipping_locked(gone, keys=False).values_list("pk", flat=True):
                return False
        archive_routine(routine_id, actor=actor, reason="no longer declared in code")
    return True


def unsettled(names: Collection[str], scope: str, now: datetime) -> list[str]:
    """Those that have been archived since they were declared, or may be: that they are declared could not be noted."""
    routines = Routine.objects.using(ledger_alias()).filter(declared_in=scope, name__in=spelled(names, scope))
    rows = routines.values_list("name", "status", "declared_seen_at") if names else ()
    is_open = {name: status == RoutineStatus.ARCHIVED or at is None or at < now for name, status, at in rows}
    return [name for name in names if any(is_open.get(each) for each in spelled([name], scope))]


def spelled(names: Collection[str], scope: str) -> list[str]:
    """As the routines of these declarations may be called."""
    return [each for name in names for each in (name, _scoped(name, scope))]


def _scoped(name: str, scope: str) -> str:
    return f"{name} ({scope})"


def _revive(routine: Routine, actor: Process) -> None:
    """Only code may bring an archived routine back: it never stopped being the code's.

    What waited when it was archived is cancelled, and stays so: a beat tries again when none of it is left. One that
    was paused or parked before comes back paused: a release that forgot it for an hour is no reason to fire again.
    """
    with transaction.atomic(using=ledger_alias()):
        _revive_active(routine, actor)
        if (rested := _rested(routine)) is not None:
            pause_routine(routine.pk, actor=actor, reason=rested)


def _rested(routine: Routine) -> str | None:
    """Why it was not active when it was archived; None: it was."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=routine.pk, kind=ChangeKind.ARCHIVED)
    before = changes.order_by("-pk").values_list("before", flat=True).first() or {}
    if before.get("status") not in (RoutineStatus.PAUSED, RoutineStatus.PARKED):
        return None
    return before.get("pause_reason") or f"it was {before['status']} before it was archived"


def _revive_active(routine: Routine, actor: Process) -> None:
    with editing(routine.pk, actor=actor, reason="declared in code again") as edit:
        cancel_waiting(routine.pk, edit.now)
        if has_waiting(routine.pk):
            raise NotAllowed("routine", routine.name, said("runs from before its archive are still being cancelled"))
        edit.routine.status, edit.routine.paused_until, edit.routine.pause_reason = RoutineStatus.ACTIVE, None, ""
        edit.save_routine("status", "paused_until", "pause_reason")
        if edit.routine.rotation_id is not None:
            bring_back([edit.routine.pk])
        plan_anew(edit.routine, edit.state, edit.now, changed=True)
        edit.save_state()
        edit.record(
            ChangeKind.RESUMED, before={"status": RoutineStatus.ARCHIVED}, after={"status": edit.routine.status}
        )
