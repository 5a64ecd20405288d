"""What is there already, of all that a file names: read by batches of names, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from routines_app.core.words import RoutineStatus
from routines_app.models import DECLARED_IN_DATABASE, Pool, Rotation, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.exports.document import Document
from routines_app.verbs.exports.export import RELATED
from routines_app.verbs.exports.fields import ROTATIONS, ROUTINES
from routines_app.verbs.family import MAX_DEPTH
from routines_app.verbs.rotations.finding import batches


@dataclass
class Ledger:
    """By name."""

    pools: dict[str, Pool] = field(default_factory=dict)
    routines: dict[str, Routine] = field(default_factory=dict)
    """Those of the entries and those that they refer to, rotations' own included."""
    parents: dict[str, str | None] = field(default_factory=dict)
    """Whose parent is whose, of these and of all above them."""
    missing: list[Routine] = field(default_factory=list)
    """Those that no entry names, if they were asked for."""

    def rotation(self, name: str) -> Rotation | None:
        routine = self.routines.get(name)
        return None if routine is None else getattr(routine, "rotates", None)


def read_ledger(document: Document, *, missing: bool) -> Ledger:
    """Everything that a plan needs, in statements that are counted by batches."""
    pools = {pool.name: pool for pool in Pool.objects.using(ledger_alias())}
    names = _names(document)
    routines = {routine.name: routine for batch in batches(sorted(names)) for routine in _read(name__in=batch)}
    found = Ledger(pools=pools, routines=routines, parents=_parents(routines))
    if missing:
        there = document.get(ROTATIONS, {}).keys() | document.get(ROUTINES, {}).keys()
        found.missing = list(_missing(there))
    return found


def _names(document: Document) -> set[str]:
    found: set[str] = set()
    for section in (ROTATIONS, ROUTINES):
        for name, entry in document.get(section, {}).items():
            found.add(name)
            found.update(ref for ref in (entry.get("parent"), entry.get("rotation")) if isinstance(ref, str))
    return found


def _read(**which: Any) -> list[Routine]:
    routines = Routine.objects.using(ledger_alias()).select_related("state", *RELATED)
    return list(routines.filter(**which))


def _parents(routines: dict[str, Routine]) -> dict[str, str | None]:
    """Upwards from those that were read, a level at a time."""
    above = {routine.pk: (routine.name, routine.parent_id) for routine in routines.values()}
    for _ in range(MAX_DEPTH + 1):
        unknown = sorted({parent for _, parent in above.values() if parent is not None} - above.keys())
        if not unknown:
            break
        for batch in batches(unknown):
            rows = Routine.objects.using(ledger_alias()).filter(pk__in=batch)
            above |= {pk: (name, parent) for pk, name, parent in rows.values_list("pk", "name", "parent_id")}
    names = {pk: name for pk, (name, _) in above.items()}
    return {name: None if parent is None else names.get(parent) for name, parent in above.values()}


def _missing(there: Collection[str]) -> Iterator[Routine]:
    """Those that people have made and nobody has archived; what is declared in code is the code's."""
    living = Routine.objects.using(ledger_alias()).filter(declared_in=DECLARED_IN_DATABASE)
    living = living.exclude(status=RoutineStatus.ARCHIVED).only("pk", "name", "task", "status")
    return (routine for routine in sorted(living, key=lambda each: each.name) if routine.name not in there)
