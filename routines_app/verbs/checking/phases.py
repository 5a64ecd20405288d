"""The phases of a cycle: what a rotation's members run one after another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue
from routines_app.core.rotation import SEEDING
from routines_app.core.said import said
from routines_app.verbs.checking import arguments
from routines_app.verbs.checking.known_tasks import any_task, known_task
from routines_app.verbs.checking.names import Label
from routines_app.verbs.checking.rules import Rule, unknown_field

MOST_PHASES = 20
NAME = Label(longest=64, required=True)
KEYS = ("name", "task", "args", "kwargs")


def known_phases(field: str, value: Any) -> list[dict[str, Any]]:
    """The list that is stored. Each phase has a name, a task and, where they differ from the routine's, arguments."""
    return _phases(field, value, known_task)


def any_phases(field: str, value: Any) -> list[dict[str, Any]]:
    """The same; their tasks may live where this process cannot see them."""
    return _phases(field, value, any_task)


def _phases(field: str, value: Any, task: Rule) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple) or len(value) > MOST_PHASES:
        raise InvalidValue(
            field, value, said("give a list of at most {most} phases, each with a name and a task", most=MOST_PHASES)
        )
    phases = [_phase(f"{field}[{number}]", entry, task) for number, entry in enumerate(value)]
    names = [phase["name"] for phase in phases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidValue(field, twice, said("give each phase a name of its own"))
    limit = get_settings().max_arguments_bytes
    if (size := len(json.dumps(phases).encode())) > limit:
        raise InvalidValue(
            field,
            names,
            said("at most {limit} bytes of JSON; these are {size}. Pass references instead", limit=limit, size=size),
        )
    return phases


def _phase(field: str, entry: Any, task: Rule) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise InvalidValue(field, entry, said('give a mapping such as {"name": "build", "task": "shop.tasks.build"}'))
    for key in entry:
        if key not in KEYS:
            raise unknown_field(f"{field}.{key}", entry[key], list(KEYS))
    found = {"name": _name(f"{field}.name", entry.get("name")), "task": task(f"{field}.task", entry.get("task"))}
    if entry.get("args") is not None:
        found["args"] = arguments.positional(f"{field}.args", entry["args"])
    if entry.get("kwargs") is not None:
        found["kwargs"] = arguments.named(f"{field}.kwargs", entry["kwargs"])
    return found


def _name(field: str, value: Any) -> str:
    """It is a part of idempotency keys, and tells a phase from the rotation's own seeding."""
    name = NAME(field, value)
    if ":" in name or name == SEEDING:
        raise InvalidValue(
            field, value, said('give a name without ":", and another one than "{seeding}"', seeding=SEEDING)
        )
    return name
