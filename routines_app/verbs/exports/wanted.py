"""Reading an entry: from what a file says to what the verbs take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from routines_app.core.durations import parse_duration
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.verbs.checking import rules
from routines_app.verbs.checking.sizes import LONGEST_REASON
from routines_app.verbs.exports.document import Entry
from routines_app.verbs.exports.fields import (
    ARCHIVED,
    BESIDES,
    DECLARED_IN,
    FIELDS,
    PAUSED,
    Field,
    Kind,
    default_of,
)
from routines_app.verbs.exports.kept import kept_secrets
from routines_app.verbs.exports.plan_values import Problems
from routines_app.verbs.exports.references import Revealer

BY_NAME = {section: {each.name: each for each in fields} for section, fields in FIELDS.items()}
REASON = rules.Text(longest=LONGEST_REASON, lines=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    reason: str
    until: datetime | None


@dataclass
class Wanted:
    """One entry, read."""

    section: str
    name: str
    given: dict[Field, Any] = field(default_factory=dict)
    """What the entry says, references and secrets resolved to names and values."""
    secret_places: dict[str, str] = field(default_factory=dict)
    """With the variables that the file names there."""
    pause: Pause | bool | None = None
    """None: nothing is said. False: it is not to be paused."""
    archived: bool = False
    declared_in: str | None = None
    is_whole: bool = True
    """Nothing in it was a problem."""

    def value(self, field: Field) -> Any:
        return self.given[field] if field in self.given else self.default(field)

    def default(self, field: Field) -> Any:
        has_cron, is_member = bool(self.said("cron")), self.said("rotation") is not None
        return default_of(field, section=self.section, is_member=is_member, has_cron=has_cron)

    def said(self, name: str) -> Any:
        """What the entry says of the field of that name; None: nothing."""
        return self.given.get(BY_NAME[self.section][name]) if name in BY_NAME[self.section] else None


def read_entry(
    section: str, name: str, entry: Entry, stored: Routine | None, secrets: Mapping[str, str], problems: Problems
) -> Wanted:
    """The entry as the verbs take it; each field that cannot be read is a problem."""
    wanted, before = Wanted(section, name), len(problems.found)
    revealer = Revealer(name, secrets, kept_secrets(section, entry, stored))
    problems.secret_places[section, name] = revealer.places
    for each in FIELDS[section]:
        if each.name in entry:
            with problems.of(section, name):
                wanted.given[each] = _value(each, entry[each.name], revealer)
    for key in BESIDES:
        if key in entry:
            with problems.of(section, name):
                _read_besides(wanted, key, entry[key], revealer)
    for missing in revealer.missing:
        problems.add(missing, section, name)
    wanted.secret_places, wanted.is_whole = revealer.places, len(problems.found) == before
    return wanted


def _value(field: Field, value: Any, revealer: Revealer) -> Any:
    if value is None:
        return None
    match field.kind:
        case Kind.DURATION:
            return parse_duration(value, field=field.name)
        case Kind.MOMENT:
            return rules.moment(field.name, value)
        case Kind.FREE:
            return revealer.revealed(value, field.name)
        case Kind.REFERENCE:
            return _name(field.name, value)
        case _:
            return value


def _name(field: str, value: Any) -> str:
    if not isinstance(value, str) or not rules.is_storable(value):
        raise InvalidValue(field, value, said("give its name, as text"))
    return value


def _read_besides(wanted: Wanted, key: str, value: Any, revealer: Revealer) -> None:
    match key:
        case "paused":
            wanted.pause = _pause(value, revealer)
        case "archived":
            wanted.archived = rules.flag(ARCHIVED, value)
        case _:
            wanted.declared_in = rules.Text(longest=200, required=True)(DECLARED_IN, value)
    if wanted.archived and wanted.pause:
        raise InvalidValue(PAUSED, value, said("give paused or archived, not both"))


def _pause(value: Any, revealer: Revealer) -> Pause | bool:
    if value is False:
        return False
    given = {} if value is True else value
    if not isinstance(given, Mapping) or given.keys() - {"reason", "until"}:
        raise InvalidValue(PAUSED, value, said("give true, false, or an object with reason, until or both"))
    reason = REASON(f"{PAUSED}.reason", revealer.revealed(given.get("reason") or "", f"{PAUSED}.reason"))
    until = given.get("until")
    return Pause(reason=reason, until=None if until is None else rules.moment(f"{PAUSED}.until", until))
