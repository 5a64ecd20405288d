"""Phases: what a cycle of a member runs, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from routines_app.models import Rotation, Routine

WORK_FIELDS = ("task", "args", "kwargs", "phases")
"""What of a routine's fields says what its phases are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One step of a cycle, with what it is called with."""

    name: str
    """Empty: the only one, of a member that has no phases."""
    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    has_arguments: bool = False
    """It has arguments of its own; else its runs have the routine's, as any run has."""


def phases_of(rotation: Rotation, routine: Routine) -> list[Phase]:
    """The member's own phases, else the rotation's, else a nameless one with the routine's task. Never empty.

    What plain SQL has put there instead of a phase is left out: a member that cannot be read must not stop a tick.
    """
    own = [_phase(entry, routine) for entry in _entries(routine.phases)]
    return own or [_phase(entry, routine) for entry in _entries(rotation.phases)] or [_nameless(routine)]


def number_of(phases: Sequence[Phase], phase: int) -> int:
    """Where a member goes on whose next phase was this one: an edit may have left fewer, and the cycle begins anew."""
    return phase if phase < len(phases) else 0


def _entries(stored: object) -> list[dict[str, Any]]:
    entries = stored if isinstance(stored, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and _is_text(entry.get("name"), entry.get("task"))]


def _is_text(*values: object) -> bool:
    return all(isinstance(value, str) and value for value in values)


def _phase(entry: dict[str, Any], routine: Routine) -> Phase:
    args, kwargs = entry.get("args"), entry.get("kwargs")
    return Phase(
        name=entry["name"],
        task=entry["task"],
        args=args if isinstance(args, list) else _list(routine.args),
        kwargs=_mapping(routine.kwargs) | _mapping(kwargs),
        has_arguments=isinstance(args, list) or isinstance(kwargs, dict),
    )


def _nameless(routine: Routine) -> Phase:
    return Phase(name="", task=routine.task, args=_list(routine.args), kwargs=_mapping(routine.kwargs))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
