"""What an entry refers to: a pool, a rotation or a parent, that is there or comes with the same file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from routines_app.core.errors import NotFound
from routines_app.core.listing import either
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import Said, said
from routines_app.models import Pool, Rotation, Routine
from routines_app.verbs.exports.document import Document
from routines_app.verbs.exports.fields import FIELDS, ROTATIONS, ROUTINES, Kind
from routines_app.verbs.exports.ledger import Ledger
from routines_app.verbs.exports.plan_values import Problems
from routines_app.verbs.exports.wanted import Wanted


@dataclass
class Targets:
    """By name. Those that come with the file are instances that have no id yet."""

    pools: dict[str, Pool]
    routines: dict[str, Routine]
    rotations: dict[str, Rotation] = field(default_factory=dict)

    def found(self, wanted: Wanted, problems: Problems) -> dict[str, Any]:
        """What the entry refers to, by column; None where it names nothing."""
        kinds: dict[str, dict[str, Any]] = {
            "pool": self.pools,
            "parent": self.routines,
            "rotation": self.rotations,
        }
        found: dict[str, Any] = {}
        for each in FIELDS[wanted.section]:
            if each.kind is not Kind.REFERENCE:
                continue
            name = wanted.said(each.name)
            found[each.column] = None if name is None else kinds[each.name].get(name)
            if name is not None and found[each.column] is None:
                wanted.is_whole = False
                problems.add(NotFound(each.name, name, _missing(name, kinds[each.name])), wanted.section, wanted.name)
        return found


def targets_of(document: Document, ledger: Ledger, pools: dict[str, Pool]) -> Targets:
    found = Targets(pools, dict(ledger.routines))
    for name in [name for section in (ROTATIONS, ROUTINES) for name in document.get(section, {})]:
        found.routines.setdefault(name, Routine(name=name))
    for name in {*ledger.routines, *document.get(ROTATIONS, {})}:
        stored = ledger.rotation(name)
        if stored is not None:
            found.rotations[name] = stored
        elif name in document.get(ROTATIONS, {}) and name not in ledger.routines:
            found.routines[name].task = TICK_TASK
            found.rotations[name] = Rotation(routine=found.routines[name])
    return found


def _missing(name: str, known: Collection[str]) -> Said:
    close = get_close_matches(name, list(known)[:10_000], n=3)
    if not close:
        return said("there is none of that name, neither here nor in the file")
    return said("there is none of that name, neither here nor in the file; did you mean {names}?", names=either(close))
