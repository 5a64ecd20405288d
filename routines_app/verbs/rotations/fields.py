"""What a rotation accepts, besides what its own routine does."""

from __future__ import annotations

from typing import Any

from routines_app.core.rotation import MOST_BUDGET
from routines_app.models import Rotation
from routines_app.verbs.checking.known_tasks import any_task, known_task
from routines_app.verbs.checking.phases import any_phases, known_phases
from routines_app.verbs.checking.rules import YEAR, Duration, Integer, Maybe, Number, Rule, flag
from routines_app.verbs.rotations.callables import any_seed, known_seed

RULES: dict[str, Rule] = {
    "budget": Integer(least=1, most=MOST_BUDGET),
    "max_in_flight": Maybe(Integer(least=1, most=100_000)),
    "fresh_for": Duration(least=0, most=10 * YEAR),
    "depth_weight": Number(least=0, most=10),
    "task": Maybe(known_task),
    "phases": known_phases,
    "seed": known_seed,
    "archive_vanished": flag,
}
ANYWHERE: dict[str, Rule] = {"task": Maybe(any_task), "phases": any_phases, "seed": any_seed}
COLUMNS = {"fresh_for": "fresh_for_ms", "task": "member_task"}
NAMES = {column: name for name, column in COLUMNS.items()}


def split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What concerns the rotation, and what its own routine."""
    own = {name: value for name, value in values.items() if NAMES.get(name, name) in RULES}
    return own, {name: value for name, value in values.items() if name not in own}


def cleaned(values: dict[str, Any], *, allow_unknown_task: bool = False) -> dict[str, Any]:
    """The given ones by their columns, checked. A callable that seeds may be known elsewhere as a task may."""
    rules = RULES | ANYWHERE if allow_unknown_task else RULES
    found = {}
    for name, value in values.items():
        field = NAMES.get(name, name)
        found[COLUMNS.get(field, field)] = rules[field](name, value)
    if "member_task" in found:
        found["member_task"] = found["member_task"] or ""
    return found


def cleaned_one(name: str, value: Any, *, allow_unknown_task: bool = False) -> Any:
    """One value, checked: for whoever wants to know all that is wrong."""
    return cleaned({name: value}, allow_unknown_task=allow_unknown_task)


def with_room(changes: dict[str, Any], before: Rotation) -> dict[str, Any]:
    """In flight as many as the budget allows, unless something else is said; or was, of a rotation that is changed."""
    budget = changes.get("budget", before.budget)
    follows = "max_in_flight" not in changes and before.max_in_flight == before.budget
    unsaid = changes.get("max_in_flight", 0) is None
    return changes | {"max_in_flight": budget} if follows or unsaid else changes
