"""What an import does with pools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.models import Pool
from routines_app.verbs.edit_pools import checked_pool
from routines_app.verbs.exports.document import Entry
from routines_app.verbs.exports.entries import entry_of_pool
from routines_app.verbs.exports.fields import KINDS, OF_POOLS, POOLS
from routines_app.verbs.exports.import_words import ImportAction
from routines_app.verbs.exports.plan_values import PlannedEntry, Problems, differences


@dataclass
class PoolDrafts:
    by_name: dict[str, Pool]
    """Those that are there and those that will be."""
    new: list[Pool] = field(default_factory=list)
    changed: list[tuple[Pool, dict[str, Any]]] = field(default_factory=list)
    planned: list[PlannedEntry] = field(default_factory=list)


def draft_pools(entries: dict[str, Entry], there: dict[str, Pool], problems: Problems) -> PoolDrafts:
    drafts = PoolDrafts(dict(there))
    for name in sorted(entries):
        with problems.of(POOLS, name):
            _draft(name, entries[name], there.get(name), drafts)
    _draft_default(entries, there, drafts, problems)
    return drafts


def _draft(name: str, entry: Entry, stored: Pool | None, drafts: PoolDrafts) -> None:
    given = {column: entry.get(field) for field, column in OF_POOLS.items()}
    given["is_default"] = given["is_default"] if given["is_default"] is not None else False
    if stored is None:
        pool = Pool(**checked_pool({"name": name} | given))
        drafts.by_name[name] = pool
        drafts.new.append(pool)
        _plan(drafts, name, ImportAction.CREATE, {}, entry_of_pool(pool))
        return
    checked = checked_pool(given)
    changes = _changes(stored, checked)
    action = ImportAction.CHANGE if changes else ImportAction.UNCHANGED
    _plan(drafts, name, action, entry_of_pool(stored), entry_of_pool(Pool(name=name, **checked)))
    if changes:
        drafts.changed.append((stored, changes))


def _changes(stored: Pool, checked: dict[str, Any]) -> dict[str, Any]:
    """One that is drained stays so: whoever has stopped a pool does not find it open because a file came in."""
    ceiling = checked["max_concurrent"]
    changes = {column: value for column, value in checked.items() if getattr(stored, column) != value}
    if stored.drained_from is None or not ceiling:
        return changes if ceiling or stored.drained_from is None else changes | {"drained_from": None}
    changes.pop("max_concurrent", None)
    return changes if ceiling == stored.drained_from else changes | {"drained_from": ceiling}


def _draft_default(entries: dict[str, Entry], there: dict[str, Pool], drafts: PoolDrafts, problems: Problems) -> None:
    """One pool at most is the default: one that becomes it takes the place of another, which is told too."""
    chosen = [name for name in sorted(entries) if entries[name].get("default") is True]
    for name in chosen[1:]:
        problems.add(
            InvalidValue("is_default", True, said("{pool} is the default too: give one", pool=chosen[0])), POOLS, name
        )
    for pool in there.values():
        if chosen and pool.is_default and pool.name not in entries:
            before = entry_of_pool(pool)
            after = {field: value for field, value in before.items() if field != "default"}
            _plan(drafts, pool.name, ImportAction.CHANGE, before, after)


def _plan(drafts: PoolDrafts, name: str, action: ImportAction, before: dict[str, Any], after: dict[str, Any]) -> None:
    changes = differences(before, after, set())
    drafts.planned.append(PlannedEntry(kind=KINDS[POOLS], name=name, action=action, changes=changes))
