"""Bringing what the project's code declares into the ledger: by `routines sync`, and what is new after `migrate`.

Beats do the same when they start (`beat/declared.py`), and they alone archive what is gone from code, after a while:
whoever syncs may be a release that another one still runs beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.db import transaction

from routines_app.conf import get_settings
from routines_app.core.durations import format_duration
from routines_app.core.errors import RoutineError
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.changes import CODE, as_recorded
from routines_app.verbs.adopt import holders, is_to_adopt, refuse_in_both
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.declarations import Found, code_scope, read_declarations
from routines_app.verbs.declare import (
    archive_undeclared,
    declare_routine,
    declared_in,
    is_followed,
    note_declared,
    spelled,
    stated_of,
    to_follow,
)


class Act(StrEnum):
    """What a sync does about one routine."""

    CREATE = "create"
    CHANGE = "change"
    NOTE = "note"
    """What code says now; all that differs has been changed by people, and stays."""
    ADOPT = "adopt"
    """A routine of that name and task was somebody else's; it is the code's from now on."""
    BRING_BACK = "bring back"
    ARCHIVE = "archive"
    REFUSE = "refuse"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is to be done, or was done, about one routine."""

    name: str
    act: Act
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Before and after of each field; secrets are masked."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a caller wants of a sync."""

    dry_run: bool
    only_new: bool
    adopter: str | None
    """Who has asked for routines to be adopted; None: nobody."""


def sync_declared(
    *,
    dry_run: bool = False,
    archive_now: bool = False,
    adopt: bool = False,
    only_new: bool = False,
    actor: str = "",
) -> list[Step]:
    """Make the routines what the project's code says, and tell of each what was done, or would be.

    A declaration that is wrong is refused by itself, and so is one whose name somebody else's routine has. With `adopt`
    such a routine, if it is of the same task, becomes the code's; `actor` is who says so. What is gone from code is
    left to the beats, which archive it after UNDECLARED_MINUTES, or archived at once. `only_new` leaves alone what is
    there.
    """
    found, scope = read_declarations(), code_scope()
    wanted = Wanted(dry_run=dry_run, only_new=only_new, adopter=actor if adopt else None)
    steps = [Step(name=name, act=Act.REFUSE, why=_placed(found, name, why)) for name, why in found.refused.items()]
    if not found.fields and not found.refused and not archive_now and not dry_run:
        return []  # a project that declares nothing is not asked about
    own = {routine.name: routine for routine in declared_in(scope)}
    steps += _all_synced(found, own, scope, wanted)
    if only_new:
        return steps
    if not dry_run:
        with transaction.atomic(using=ledger_alias()):
            note_declared(found.names, scope, clock.now())
    return steps + list(_gone(found, own, scope, archive_now=archive_now and not dry_run))


def differing(steps: list[Step]) -> list[Step]:
    """Those about which there is something to say."""
    return [step for step in steps if step.act is not Act.NOTHING]


def _all_synced(found: Found, own: dict[str, Routine], scope: str, wanted: Wanted) -> list[Step]:
    """What is refused is tried once more at the end: its parent may have been declared below it."""
    done: dict[str, Step] = {}
    missing = [name for name in found.fields if own.keys().isdisjoint(spelled([name], scope))]
    taken = {routine.name: routine for routine in holders(missing, scope)} if missing else {}
    for name, fields in [*found.fields.items(), *found.fields.items()]:
        if name in done and (done[name].act is not Act.REFUSE or wanted.dry_run):
            continue
        routine = next((own[each] for each in spelled([name], scope) if each in own), None)
        try:
            asked = _without_new_parent(fields, found) if wanted.dry_run else fields
            step = _planned(name, asked, routine, taken.get(name), wanted)
            if step.act is not Act.NOTHING and not wanted.dry_run:
                declare_routine(name, fields, scope, actor=CODE, adopter=wanted.adopter)
        except RoutineError as error:
            step = Step(name=name, act=Act.REFUSE, why=_placed(found, name, str(error)))
        done[name] = step
    return list(done.values())


def _planned(
    name: str, fields: dict[str, Any], routine: Routine | None, holder: Routine | None, wanted: Wanted
) -> Step:
    if holder is not None and is_to_adopt(holder, fields, is_asked=wanted.adopter is not None):
        stated_of(holder, fields)
        back = "it is archived, and comes back as it was" if holder.status == RoutineStatus.ARCHIVED else ""
        return Step(name=name, act=Act.NOTHING if wanted.only_new else Act.ADOPT, why=back)
    if routine is None:
        refuse_in_both(name, fields, code_scope())
        stated = clean_new({**fields, "name": name}, allow_unknown_task=True)
        return Step(name=name, act=Act.CREATE, changes=_changes({}, stated))
    if wanted.only_new:
        return Step(name=routine.name, act=Act.NOTHING)
    stated = stated_of(routine, fields)
    if routine.status != RoutineStatus.ARCHIVED and is_followed(routine, stated):
        return Step(name=routine.name, act=Act.NOTHING)
    following = to_follow(routine, stated)
    changes = _changes({name: getattr(routine, name) for name in following.changes}, following.changes)
    act = Act.CHANGE if changes else Act.NOTE
    if routine.status == RoutineStatus.ARCHIVED:
        act = Act.BRING_BACK
    return Step(name=routine.name, act=act, changes=changes, why=following.in_the_way)


def _without_new_parent(fields: dict[str, Any], found: Found) -> dict[str, Any]:
    """A parent that would be made by the same sync is not looked for."""
    parent = fields.get("parent")
    is_new = isinstance(parent, str) and parent in found.fields
    return {name: value for name, value in fields.items() if name != "parent"} if is_new else fields


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    old, new = as_recorded(before), as_recorded(after)
    return {name: (old.get(name), new[name]) for name in new if name != "name"}


def _gone(found: Found, own: dict[str, Routine], scope: str, *, archive_now: bool) -> Iterator[Step]:
    declared = set(spelled(found.names, scope))
    otherwise = "archive it with --archive-now"
    if get_settings().sync_declared:
        otherwise = f"beats archive it after {format_duration(int(get_settings().undeclared_minutes * 60_000))}"
    for routine in own.values():
        if routine.name in declared or routine.status == RoutineStatus.ARCHIVED:
            continue
        try:
            if archive_now:
                archive_undeclared(routine.pk, actor=CODE)
        except RoutineError as error:  # a beat was faster, or somebody holds it: the others are told all the same
            yield Step(name=routine.name, act=Act.REFUSE, why=f"no longer declared, and not archived: {error}")
            continue
        why = "no longer declared" if archive_now else f"no longer declared: {otherwise}"
        yield Step(name=routine.name, act=Act.ARCHIVE, why=why)


def _placed(found: Found, name: str, why: str) -> str:
    return f"{found.places[name][0]}: {why}"
