"""What a plan of an import tells."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.utils.crypto import salted_hmac

from routines_app.core.errors import NotFound, RoutineError
from routines_app.masks import MASK
from routines_app.verbs.exports.fields import file_name
from routines_app.verbs.exports.import_words import ImportAction

SECRET = "(secret)"  # noqa: S105 - stands for one  # nosec B105
ANOTHER_SECRET = "(another secret)"  # noqa: S105 # nosec B105


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldChange:
    """A field as a file would have it, before and after; None: it says nothing there."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedEntry:
    """What an import does with one pool, rotation or routine."""

    kind: str
    """`pool`, `rotation` or `routine`."""
    name: str
    action: ImportAction
    changes: tuple[FieldChange, ...] = ()
    seal: str = field(default="", repr=False)
    """Of its secrets: tells whether they are the same ones, and nothing else. Empty: it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportPlan:
    """What an import does, or would do. Secrets are not in there."""

    entries: tuple[PlannedEntry, ...]
    """Pools, rotations, routines, each by name; then what is archived because no entry names it."""
    problems: tuple[RoutineError, ...] = ()
    """Each says which entry and field it is about. With any of them nothing is imported."""

    @property
    def digest(self) -> str:
        """Of what is done, secrets included: `import_routines` with it refuses to do anything else."""
        done = [
            [entry.kind, entry.name, entry.action, entry.seal]
            + [[each.field, each.before, each.after] for each in entry.changes]
            for entry in self.entries
            if entry.action is not ImportAction.UNCHANGED
        ]
        return hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()

    def count(self, action: ImportAction) -> int:
        return sum(entry.action is action for entry in self.entries)

    @property
    def is_idle(self) -> bool:
        """There is nothing to do."""
        return all(entry.action is ImportAction.UNCHANGED for entry in self.entries)


@dataclass
class Problems:
    """All that is wrong with a file, collected on the way."""

    found: list[RoutineError] = field(default_factory=list)
    secret_places: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """Of entries, by section and name: where the file has references."""

    def add(self, error: RoutineError, section: str, name: str) -> None:
        at, value = file_name(section, error.field), error.value
        for place in self.secret_places.get((section, name), {}):
            if _is_within(at, place) or _is_within(place, at):
                at = place if _is_within(at, place) else at  # what is inside a secret has secret names
                value = value if isinstance(error, NotFound) else MASK  # that is about the variable
        entry = f"{section}[{shown_name(name)}]"
        problem = type(error)(f"{entry}.{at}" if at else entry, value, error.expected)
        if str(problem) not in map(str, self.found[-10:]):
            self.found.append(problem)

    @contextmanager
    def of(self, section: str, name: str) -> Iterator[None]:
        """What is refused in here is a problem of that entry."""
        try:
            yield
        except RoutineError as error:
            self.add(error, section, name)


def _is_within(place: str, outer: str) -> bool:
    return bool(outer) and place.startswith(outer) and place[len(outer) :][:1] in ("", ".", "[")


def shown_name(name: str) -> str:
    """On one line, with nothing in it that a terminal obeys or that turns the line around."""
    return name if name.isprintable() else json.dumps(name)[1:-1]


def sealed(*secrets: Mapping[str, Any]) -> str:
    """A seal of secrets by place. Keyed: nobody finds a short one by trying."""
    if not any(secrets):
        return ""
    text = json.dumps(secrets, sort_keys=True, default=str)
    return salted_hmac("routines_app.import", text, algorithm="sha256").hexdigest()


def differences(before: dict[str, Any], after: dict[str, Any], secretly: set[str]) -> tuple[FieldChange, ...]:
    """The fields that differ. `secretly`: those of which a secret changes, also where the file would look the same."""
    names = list(dict.fromkeys([*after, *before, *sorted(secretly)]))
    changed = []
    for name in names:
        was, becomes = before.get(name), after.get(name)
        if json.dumps(was, sort_keys=True) != json.dumps(becomes, sort_keys=True):
            changed.append(FieldChange(field=name, before=was, after=becomes))
        elif name in secretly:
            changed.append(FieldChange(field=name, before=SECRET, after=ANOTHER_SECRET))
    return tuple(changed)
