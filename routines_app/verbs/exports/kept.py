"""The secrets that a routine keeps when a file comes in that names them only.

A secret goes where it was meant to go, or nowhere: whoever writes the file need not know it, and must not have it sent
to an address of their choice. So all that says who gets it and what is done with it has to be as it is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routines_app.models import Routine
from routines_app.verbs.checking.validation import is_same
from routines_app.verbs.exports.document import Entry
from routines_app.verbs.exports.entries import section_of, stored_value
from routines_app.verbs.exports.fields import FIELDS, PAUSED, ROTATIONS, Kind
from routines_app.verbs.exports.references import KEY, LEVELS, Hider, inside, is_own, plain_key, secrets_of

DESTINATION = ("args", "kwargs", "options", "phases")
"""Free values that say where the others go."""


def kept_secrets(section: str, entry: Entry, stored: Routine | None) -> dict[str, Any]:
    """What the routine may keep, by place; nothing if any of where it goes is said otherwise."""
    if stored is None or section_of(stored) != section:
        return {}
    rotation = getattr(stored, "rotates", None) if section == ROTATIONS else None
    had = {each.name: stored_value(each, stored, rotation) for each in FIELDS[section]}
    if _work(entry) != _work(had | {"rotation": stored.rotation and stored.rotation.name}):
        return {}
    if not _has_same_arguments(entry, had, stored.name):
        return {}
    free = {each.name: had[each.name] for each in FIELDS[section] if each.kind is Kind.FREE}
    return secrets_of(stored.name, free | {f"{PAUSED}.reason": stored.pause_reason})


def _work(entry: Mapping[str, Any]) -> list[Any]:
    """Who gets the arguments."""
    phases = entry.get("phases")
    listed = phases if isinstance(phases, list | tuple) else []
    tasks = [each.get("task") if isinstance(each, Mapping) else each for each in listed]
    return [entry.get("task") or "", entry.get("queue") or "", entry.get("rotation"), tasks]


def _has_same_arguments(entry: Entry, had: Mapping[str, Any], owner: str) -> bool:
    """But for references: whoever sets the variable that is this place's own has decided what is there."""
    own: dict[str, str] = {}
    said = {name: _marked(entry.get(name), name, owner, own) for name in DESTINATION}
    hider = Hider(owner, own)
    has = {name: hider.hidden(had.get(name), name) for name in DESTINATION}
    # What is said by nothing is what an empty one says.
    return all(is_same(said[name] or {}, _marked(has[name], name, owner, own) or {}) for name in DESTINATION)


def _marked(value: Any, place: str, owner: str, own: dict[str, str], levels: int = LEVELS) -> Any:
    """A copy in which a place's own reference is a mark; `own` gets these. What is too deep is refused by others."""
    if levels == 0:
        return None
    if isinstance(value, Mapping):
        if is_own(owner, place, value.get(KEY)):
            own[place] = value[KEY]
            return {KEY: True}
        named = ((key, inside(place, str(plain_key(key))), item) for key, item in value.items())
        return {key: _marked(item, at, owner, own, levels - 1) for key, at, item in named}
    if isinstance(value, list | tuple):
        return [_marked(item, f"{place}[{at}]", owner, own, levels - 1) for at, item in enumerate(value)]
    return value
