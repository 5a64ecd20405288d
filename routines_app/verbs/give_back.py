"""Giving fields back to the code that declares a routine: they are what code says again, and follow it from then on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.verbs.checking.code_says import by_people, declared_values, differences, with_trigger
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import unknown_field
from routines_app.verbs.checking.triggers import SHORT
from routines_app.verbs.checking.validation import FIELDS, SCHEDULE_FIELDS, clean_changes
from routines_app.verbs.editing import editing, refuse_archived
from routines_app.verbs.update import write

GIVEN_BACK = "given back to code"
# A secret of the code's goes where code has sent it, or nowhere: not to the queue that somebody else has chosen.
ARGUMENTS = frozenset({"args", "kwargs", "options", "phases"})
DESTINATIONS = frozenset({"queue", "rotation"})


def give_back(
    routine: RoutineRef, fields: Collection[str] | None = None, *, actor: str = "", reason: str = ""
) -> Routine:
    """Set fields of a routine that is declared in code to what code says; None: all that differ.

    A trigger is given back as a whole, with what has waited for it (a time zone, say), and arguments with all that says
    who gets them. What code says nothing about gets its default. Nothing differs: nothing happens.
    """
    chosen = None if fields is None else _together(map(_known, fields))
    why = f"{GIVEN_BACK}: {reason}" if reason else GIVEN_BACK
    with editing(routine, actor=actor, reason=why) as edit:
        _refuse_own(edit.routine)
        refuse_archived(edit.routine, said("an archived routine has nothing to give back"))
        by_code = differences(edit.routine)
        if not by_code.keys().isdisjoint(with_trigger(["cron"])):
            by_code |= _trigger_by_code(edit.routine)
        if chosen is not None and "cron" in chosen:
            chosen |= SCHEDULE_FIELDS - by_people(edit.routine)  # they have waited for the trigger
        wanted = {field: value for field, value in by_code.items() if chosen is None or field in chosen}
        if changes := clean_changes(edit.routine, wanted, allow_unknown_task=True):
            write(edit, changes)
    return edit.routine


def _together(fields: Iterable[str]) -> set[str]:
    chosen = with_trigger(fields)
    return chosen if chosen.isdisjoint(ARGUMENTS) else chosen | ARGUMENTS | DESTINATIONS


def _known(field: str) -> str:
    name = SHORT.get(field, field)
    if name not in FIELDS:
        raise unknown_field(field, field, [*FIELDS, *SHORT])
    return name


def _refuse_own(routine: Routine) -> None:
    if not routine.is_declared_in_code:
        raise NotAllowed(
            "routine", routine.name, said("give one that is declared in code: nobody else has said what it is")
        )
    if declared_values(routine) is None:
        expected = said("what code says is not known yet: a beat notes it when it starts, and so does `routines sync`")
        raise NotAllowed("routine", routine.name, expected)


def _trigger_by_code(routine: Routine) -> dict[str, Any]:
    """All of it, also the parts that are the same: the kind decides which of them count."""
    declared = declared_values(routine) or {}
    return {field: declared[field] for field in with_trigger(["cron"]) if field in declared}
