"""Reading what should be members: from a seed callable, or from whoever adds some.

Each is looked at before anything is written, and an error says which one is wrong. Nothing here asks the database: what
there is already is `finding.py`'s to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from routines_app.core.errors import DuplicateName, InvalidValue
from routines_app.core.said import said
from routines_app.core.words import ConcurrencyPolicy, TriggerKind
from routines_app.models import Rotation, Routine
from routines_app.verbs.checking.rules import unknown_field
from routines_app.verbs.checking.validation import clean_value, default_timezone
from routines_app.verbs.rotations.placing import at_item
from routines_app.verbs.rotations.values import Member

MOST = 200_000  # more is a callable that never ends
KEYS = [field.name for field in fields(Member)]
OF_A_ROUTINE = ("name", "task", "args", "kwargs", "emphasis", "phases", "tags")
EXPECTED = said("give a Member, a mapping with its fields, or a name")


class Wanted(NamedTuple):
    """One that should be a member."""

    place: str
    """Which one of those that were given, for errors."""
    name: str
    values: dict[str, Any]
    """Of its routine, checked; empty: it is a routine that is there."""
    parent: str | None
    joins: bool
    """Only its name was given: a routine of that name that is there may join."""
    id: int | None = None
    """Of a routine that was given itself: whatever it is called by now."""


def read_wanted(items: Iterable[Any], rotation: Rotation, field: str, *, allow_unknown_task: bool) -> list[Wanted]:
    """All of them, checked. The iterable is read once, as it comes, and to no end of its own."""
    reader = _Reader(rotation, allow_unknown_task)
    found: dict[str | int, Wanted] = {}
    for number, item in enumerate(_iterated(items, field)):
        place = f"{field}[{number}]"
        if number == MOST:
            raise InvalidValue(place, item, said("give at most {most:,}", most=MOST))
        with at_item(place):
            wanted = reader.read(item, place)
        key = wanted.name if wanted.id is None else wanted.id
        if (first := found.setdefault(key, wanted)) is not wanted:
            raise DuplicateName(
                f"{place}.name", wanted.name, said("{place} has the same name: give each one once", place=first.place)
            )
    return list(found.values())


def _iterated(items: Any, field: str) -> Iterator[Any]:
    """What somebody's generator raises is its own, and says how far it came."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidValue(field, items, said("give a list, a generator or another iterable of members"))
    given = 0
    try:
        for given, item in enumerate(items, start=1):  # noqa: B007 - read where it ends
            yield item
    except Exception as error:
        error.add_note(f"{field}: raised after {given} members; none of them was written")
        raise


@dataclass
class _Reader:
    rotation: Rotation
    allow_unknown_task: bool

    def __post_init__(self) -> None:
        self.every = {
            "trigger_kind": TriggerKind.MANUAL.value,
            "timezone": default_timezone(),
            "concurrency_policy": ConcurrencyPolicy.FORBID.value,
            "rotation": self.rotation,
        }
        # Those that the rotation has been given were looked at then, and may be known elsewhere.
        of_phases = [phase.get("task", "") for phase in self.rotation.phases if isinstance(phase, Mapping)]
        self.tasks = {task: task for task in (self.rotation.member_task, *of_phases) if task}

    def read(self, item: Any, place: str) -> Wanted:
        match item:
            case Routine():
                return Wanted(place, item.name, {}, None, joins=True, id=int(item.pk or 0))
            case str():
                return self._wanted(Member(name=item), place, joins=True)
            case Member():
                return self._wanted(item, place)
            case Mapping():
                return self._wanted(_member(item), place)
            case _:
                raise InvalidValue("", item, EXPECTED)

    def _wanted(self, member: Member, place: str, *, joins: bool = False) -> Wanted:
        given = {field: getattr(member, field) for field in OF_A_ROUTINE}
        given["phases"] = [] if member.phases is None else member.phases
        given["kwargs"] = {} if member.kwargs is None else member.kwargs
        if isinstance(member.kwargs, Mapping):
            given["kwargs"] = dict(member.kwargs)
        if member.task is None or member.task == "":
            given["task"] = self._usual_task(given["phases"])
        values = {field: self._clean(field, value) for field, value in given.items()}
        return Wanted(place, values["name"], values | self.every, _parent(member.parent), joins)

    def _usual_task(self, phases: Any) -> str | None:
        """Of one that names none. Where there are phases it is never run, and is that of the first."""
        first = next(iter(phases if isinstance(phases, list | tuple) else ()), None)
        first = first or next(iter(self.rotation.phases), None)
        task = first.get("task") if isinstance(first, Mapping) else None
        return self.rotation.member_task or task

    def _clean(self, field: str, value: Any) -> Any:
        if field != "task":
            return clean_value(field, value, allow_unknown_task=self.allow_unknown_task)
        if value is None:
            raise InvalidValue("task", value, said("give it a task or phases, or the rotation a task for its members"))
        if not isinstance(value, str) or value not in self.tasks:  # of ten thousand most have the same one
            checked = clean_value(field, value, allow_unknown_task=self.allow_unknown_task)
            self.tasks[checked] = checked
            return checked
        return value


def _member(item: Mapping[Any, Any]) -> Member:
    for key, value in item.items():
        if key not in KEYS:
            raise unknown_field(str(key), value, KEYS)
    if "name" not in item:
        raise InvalidValue("name", None, said("give it a name"))
    return Member(**item)


def _parent(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidValue("parent", value, said("give the name of a routine"))
    return value.strip()
