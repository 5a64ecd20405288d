"""The tasks that a routine can run, grouped by the module they come from."""

from __future__ import annotations

from itertools import groupby

from routines_app.service import registered_tasks

Group = tuple[str, list[tuple[str, str]]]


def task_choices(current: str = "") -> list[tuple[str, str] | Group]:
    """Registered tasks; a stored one that is not registered (any more) stays, and says so."""
    names = registered_tasks()
    unknown = [(current, f"{current} (not registered)")] if current and current not in names else []
    grouped = groupby(sorted(names, key=_module), key=_module)
    return [("", "Choose a task"), *unknown, *((module, [(n, n) for n in group]) for module, group in grouped)]


def _module(name: str) -> str:
    return name.rpartition(".")[0] or "(no module)"
