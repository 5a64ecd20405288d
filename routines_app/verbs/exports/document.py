"""The shape of an export: its version, its sections, and entries with fields that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routines_app.core.errors import DuplicateName, InvalidValue
from routines_app.core.said import said
from routines_app.verbs.checking.rules import is_storable, unknown_field
from routines_app.verbs.exports.fields import FORMAT, KNOWN, ROTATIONS, ROUTINES, SECTIONS
from routines_app.verbs.exports.plan_values import Problems

MOST = 50_000  # entries: an import is one transaction

Entry = dict[str, Any]
Document = dict[str, dict[str, Entry]]


def read_document(data: Any, problems: Problems) -> Document:
    """The entries by section and name. What has not the shape of one is a problem, and left out."""
    if not isinstance(data, Mapping):
        problems.found.append(InvalidValue("file", data, said("give an export: an object with {keys}", keys=_keys())))
        return {}
    version = data.get("format")
    if version != FORMAT or isinstance(version, bool):
        expected = said("give format: {format}, which is the one that this release reads and writes", format=FORMAT)
        problems.found.append(InvalidValue("format", version, expected))
        return {}
    for key in data:
        if key != "format" and key not in SECTIONS:
            problems.found.append(unknown_field(str(key), data[key], ["format", *SECTIONS]))
    found = {section: _section(section, data.get(section), problems) for section in SECTIONS}
    for name in found[ROTATIONS].keys() & found[ROUTINES].keys():
        expected = said("a rotation has this name too: names of both are unique among each other")
        problems.add(DuplicateName("", name, expected), ROUTINES, name)
    if sum(map(len, found.values())) > MOST:
        problems.found.append(
            InvalidValue("file", "…", said("give at most {most:,} entries: import fewer at a time", most=MOST))
        )
        return {}
    return found


def _keys() -> str:
    return ", ".join(["format", *SECTIONS])


def _section(section: str, given: Any, problems: Problems) -> dict[str, Entry]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        problems.found.append(InvalidValue(section, given, said("give an object: names, each with its fields")))
        return {}
    found = {}
    for name, entry in given.items():
        if not isinstance(name, str) or not is_storable(name):
            problems.found.append(InvalidValue(section, name, said("give a name as text")))
            continue
        with problems.of(section, name):
            found[name] = _entry(section, entry, problems, name)
    return found


def _entry(section: str, entry: Any, problems: Problems, name: str) -> Entry:
    if not isinstance(entry, Mapping):
        raise InvalidValue(
            "", entry, said("give an object with fields such as {these}", these=", ".join(KNOWN[section][:4]))
        )
    known = {}
    for key, value in entry.items():
        if key in KNOWN[section]:
            known[key] = value
        else:
            problems.add(unknown_field(str(key), value, KNOWN[section]), section, name)
    return known
