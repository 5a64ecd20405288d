"""What an import does with one routine or rotation: created, changed, archived, or left as it is."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from routines_app.core.errors import InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.said import said
from routines_app.core.words import TRIGGER_FIELDS, RoutineStatus
from routines_app.models import Rotation, Routine
from routines_app.verbs.checking.membership import OF_A_ROTATION, refuse_on_rotation
from routines_app.verbs.checking.validation import clean_changes, clean_new, clean_value, is_same, refuse_declared
from routines_app.verbs.exports.drafts import Changed, New
from routines_app.verbs.exports.entries import entry_of, section_of, stored_value
from routines_app.verbs.exports.fields import (
    ARCHIVED,
    DECLARED_IN,
    FIELDS,
    KINDS,
    ROTATIONS,
    ROUTINES,
    TICKS_EVERY_MS,
    Field,
    Kind,
)
from routines_app.verbs.exports.import_words import ImportAction
from routines_app.verbs.exports.pauses import new_pause, pause_to_make, planned_pause
from routines_app.verbs.exports.plan_values import FieldChange, PlannedEntry, Problems, differences, sealed
from routines_app.verbs.exports.references import Hider
from routines_app.verbs.exports.references_to import Targets
from routines_app.verbs.exports.wanted import Wanted
from routines_app.verbs.rotations import fields as rotation_fields

TRIGGER = frozenset(TRIGGER_FIELDS) - {"trigger_kind"}
ANOTHER = {
    ROTATIONS: said("here it is a rotation: give another name, or archive and delete that"),
    ROUTINES: said("here it is a routine: give another name, or archive and delete that"),
}


@dataclass
class Drafter:
    """Decides about entries, one after another."""

    targets: Targets
    problems: Problems
    now: datetime
    allow_unknown_task: bool

    def note_all(self, wanted: Wanted) -> None:
        """All that is wrong with the fields of an entry that is no good anyway."""
        given = {each: value for each, value in wanted.given.items() if each.kind is not Kind.REFERENCE}
        own = {each.column: value for each, value in given.items() if each.of_rotation}
        self._note_each(wanted, own, rotation_fields.cleaned_one)
        self._note_each(
            wanted, {each.column: value for each, value in given.items() if not each.of_rotation}, clean_value
        )

    def new(self, wanted: Wanted, found: dict[str, Any]) -> tuple[New, PlannedEntry]:
        """Of one whose name nobody has. `found`: what it refers to."""
        if wanted.declared_in is not None:
            expected = said(
                "its code has not been declared here: deploy it and let a beat start, or take this entry out"
            )
            raise NotFound(DECLARED_IN, wanted.declared_in, expected)
        found = {column: value for column, value in found.items() if value is not None}
        routine = self.targets.routines[wanted.name]
        rotation = self.targets.rotations.get(wanted.name) if wanted.section == ROTATIONS else None
        own = self._own(wanted, None)
        cleaned = self._cleaned(wanted, found)
        for column, value in cleaned.items():
            setattr(routine, column, value)
        for column, value in own.items():
            setattr(rotation, column, value)
        pause = new_pause(wanted, self.now)
        hider = Hider(wanted.name, wanted.secret_places)
        told = entry_of(routine, rotation, hider) | planned_pause(pause, hider)
        told |= {ARCHIVED: True} if wanted.archived else {}
        made = New(routine=routine, cleaned=cleaned, rotation=rotation, own=own, pause=pause, archived=wanted.archived)
        return made, _planned(wanted, ImportAction.CREATE, differences({}, told, set()), sealed(hider.secrets))

    def changed(self, wanted: Wanted, stored: Routine, found: dict[str, Any]) -> tuple[Changed | None, PlannedEntry]:
        """Of one that is there; None: it is as the entry says."""
        _refuse_another(wanted, stored)
        if wanted.archived or stored.status == RoutineStatus.ARCHIVED:
            return _archived(wanted, stored)
        rotation = getattr(stored, "rotates", None) if wanted.section == ROTATIONS else None
        own = self._own(wanted, rotation)
        changes = self._changes(wanted, stored, found)
        was, becomes = Hider(wanted.name, wanted.secret_places), Hider(wanted.name, wanted.secret_places)
        pause, told = pause_to_make(wanted, stored, self.now, was, becomes)
        if not (changes or own or told):
            return None, _planned(wanted, ImportAction.UNCHANGED)
        if changes and stored.is_declared_in_code:
            _refuse_undeclared(wanted, stored)
            refuse_declared(stored, changes)
        self._refuse_hinted(stored, changes)
        changed = Changed(routine=stored, changes=changes, own=own, pause=pause)
        differs = (*_told(wanted, changed, rotation, was, becomes), *told)
        return changed, _planned(wanted, ImportAction.CHANGE, differs, sealed(was.secrets, becomes.secrets))

    def _cleaned(self, wanted: Wanted, found: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {"name": wanted.name}
        values |= {each.column: value for each, value in wanted.given.items() if _is_own_column(each)}
        if wanted.section == ROTATIONS:
            if "interval_ms" not in values and not values.get("cron"):
                values["interval_ms"] = TICKS_EVERY_MS
            cleaned = self._checked(wanted, values, lambda: clean_new(values, found=found))
            refuse_on_rotation(cleaned)
            return OF_A_ROTATION | cleaned
        values.setdefault("task", None)
        return self._checked(
            wanted, values, lambda: clean_new(values, found=found, allow_unknown_task=self.allow_unknown_task)
        )

    def _changes(self, wanted: Wanted, stored: Routine, found: dict[str, Any]) -> dict[str, Any]:
        """What is as it was is not looked at again: it may be older than a rule, or known to workers alone."""
        fields = [each for each in FIELDS[wanted.section] if _is_own_column(each)]
        values = {each.column: wanted.value(each) for each in fields}
        values = {
            each.column: values[each.column]
            for each in fields
            if not is_same(_here(each, stored, found), values[each.column])
        }
        if values.keys() & TRIGGER:  # one replaces the other: which of them differ says nothing about the schedule
            values |= {each.column: wanted.value(each) for each in fields if each.column in TRIGGER}
        moved = {column: value for column, value in found.items() if getattr(stored, column) != value}
        if not values and not moved:
            return {}
        allow = self.allow_unknown_task
        return self._checked(
            wanted, values, lambda: clean_changes(stored, values, found=found, allow_unknown_task=allow)
        )

    def _own(self, wanted: Wanted, stored: Rotation | None) -> dict[str, Any]:
        """The columns of a rotation that are to be written."""
        if wanted.section != ROTATIONS:
            return {}
        values = {each.column: wanted.value(each) for each in FIELDS[ROTATIONS] if each.of_rotation}
        follows = values["max_in_flight"] is None and values.pop("max_in_flight") is None
        differing = {
            column: value
            for column, value in values.items()
            if stored is None or not is_same(getattr(stored, column), value)
        }
        try:
            cleaned = rotation_fields.cleaned(differing, allow_unknown_task=self.allow_unknown_task)
        except RoutineError:
            self._note_each(wanted, differing, rotation_fields.cleaned_one)
            raise
        if follows:
            cleaned["max_in_flight"] = cleaned.get("budget", stored.budget if stored is not None else 1)
        return {
            column: value for column, value in cleaned.items() if stored is None or getattr(stored, column) != value
        }

    def _checked(self, wanted: Wanted, values: dict[str, Any], clean: Any) -> dict[str, Any]:
        """By the rules of the verbs, which refuse the first that is wrong: then each is looked at by itself too."""
        try:
            cleaned: dict[str, Any] = clean()
        except RoutineError:
            self._note_each(wanted, values, clean_value)
            raise
        return cleaned

    def _note_each(self, wanted: Wanted, values: dict[str, Any], rule: Any) -> None:
        for column, value in values.items():
            with self.problems.of(wanted.section, wanted.name):
                if value is not None or column == "task":
                    rule(column, value, allow_unknown_task=self.allow_unknown_task)

    def _refuse_hinted(self, stored: Routine, changes: dict[str, Any]) -> None:
        state = getattr(stored, "state", None)
        if changes.get("rotation") is not None and state is not None and state.fresh_hints(self.now):
            expected = said("a rotation's members take no hints, and it has some: clear its hints first")
            raise NotAllowed("rotation", stored.name, expected)


def _here(field: Field, stored: Routine, found: dict[str, Any]) -> Any:
    """Phases that are left over from another rotation say something again when it joins one."""
    if field.column == "phases" and found.get("rotation") is not None and stored.phases:
        return stored.phases
    return stored_value(field, stored, None)


def _is_own_column(field: Any) -> bool:
    return not field.of_rotation and field.kind is not Kind.REFERENCE


def _refuse_another(wanted: Wanted, stored: Routine) -> None:
    """The routine of that name is something else."""
    if (section := section_of(stored)) != wanted.section:
        raise InvalidValue("", wanted.name, ANOTHER[section])
    here = stored.declared_in if stored.is_declared_in_code else None
    if wanted.declared_in is not None and wanted.declared_in != here:
        expected = said("here it is not declared in code") if here is None else said("here it is {scope}", scope=here)
        raise NotAllowed(DECLARED_IN, wanted.declared_in, expected)


def _refuse_undeclared(wanted: Wanted, stored: Routine) -> None:
    """A file from before its routine was declared would overrule the code at every import, and nobody would notice."""
    if wanted.declared_in is None:
        expected = said(
            "it is declared in code here: say {field}: {scope}, or take this entry out",
            field=DECLARED_IN,
            scope=stored.declared_in,
        )
        raise NotAllowed(DECLARED_IN, None, expected)


def _archived(wanted: Wanted, stored: Routine) -> tuple[Changed | None, PlannedEntry]:
    if not wanted.archived:
        expected = said("it is archived here, and cannot be changed: delete it first, or give another name")
        raise NotAllowed("", stored.status, expected)
    if stored.status == RoutineStatus.ARCHIVED:
        return None, _planned(wanted, ImportAction.UNCHANGED)
    return Changed(routine=stored, changes={}, archived=True), _planned(wanted, ImportAction.ARCHIVE)


def _told(
    wanted: Wanted, changed: Changed, rotation: Rotation | None, was: Hider, becomes: Hider
) -> tuple[FieldChange, ...]:
    """The differences, as two files would have them, in both of which the places are secret that this one says."""
    before = entry_of(changed.routine, rotation, was)
    routine, turns = copy(changed.routine), copy(rotation)
    for column, value in changed.changes.items():
        setattr(routine, column, value)
    for column, value in changed.own.items():
        setattr(turns, column, value)
    after = entry_of(routine, turns, becomes)
    touched = changed.changes.keys() | changed.own.keys()
    secretly = {each.name for each in FIELDS[wanted.section] if each.kind is Kind.FREE and each.column in touched}
    return differences(before, after, secretly)


def _planned(
    wanted: Wanted, action: ImportAction, changes: tuple[FieldChange, ...] = (), seal: str = ""
) -> PlannedEntry:
    return PlannedEntry(kind=KINDS[wanted.section], name=wanted.name, action=action, changes=changes, seal=seal)
