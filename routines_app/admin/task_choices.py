"""The tasks that a routine can run, grouped by the module they come from, and the callables that can seed."""

from __future__ import annotations

from itertools import groupby

from django.utils.translation import gettext as _

from routines_app.conf import get_settings
from routines_app.service import registered_tasks

Group = tuple[str, list[tuple[str, str]]]


def task_choices(current: str = "") -> list[tuple[str, str] | Group]:
    """Registered tasks; a stored one that is not registered (any more) stays, and says so."""
    names = registered_tasks()
    label = _("{task} (not registered)").format(task=current)
    unknown = [(current, label)] if current and current not in names else []
    grouped = groupby(sorted(names, key=_module), key=_module)
    choices = [(module or _("(no module)"), [(name, name) for name in group]) for module, group in grouped]
    return [("", _("Choose a task")), *unknown, *choices]


def seed_choices(current: str = "") -> list[tuple[str, str]]:
    """Those that the settings list: workers run what is chosen. A stored one that is not listed stays, and says so."""
    listed = get_settings().seeds
    label = _("{seed} (not in the settings)").format(seed=current)
    unlisted = [(current, label)] if current and current not in listed else []
    return [("", _("Nobody: members are added by hand")), *unlisted, *((path, path) for path in listed)]


def _module(name: str) -> str:
    """Empty: it is in none."""
    return name.rpartition(".")[0]
