"""Routines that stand in code: `@routine(…)` on a Celery task, and `declare(…)` in a `routines.py`.

    from routines_app import routine

    @routine(cron="0 3 * * *", timezone="Europe/Berlin", concurrency_policy="FORBID")
    @shared_task
    def nightly_report(): ...

A declaration is only noted here. Nothing is checked or written when a module is imported: task modules are imported by
every process, before apps are ready. `check` says what is wrong with a declaration; `migrate`, `routines sync` and the
beats make routines of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Target = TypeVar("Target")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What one place in the code says about one routine."""

    name: str
    """Empty: it is made from the task's, which is not known before all modules are imported."""
    task: Any
    """A task, the function of one, or the name of one."""
    fields: Mapping[str, Any]
    place: str
    """Where it stands, for messages: `shop/tasks.py:12`."""


_declared: list[Declaration] = []


def routine(name: str = "", **fields: Any) -> Callable[[Target], Target]:
    """Declare a routine of the task below or above; the task itself stays as it is.

    `fields` are those of `service.create_routine`: `cron`, `every` or `at`, `args`, `kwargs` and policies. A task may
    have several, with names of their own. Without a name it is called as its task without the part `tasks`: that of
    `shop.tasks.nightly_report` is `shop.nightly_report`.
    """
    if callable(name):
        raise TypeError("write @routine(…) with parentheses: a routine says at least when it fires")
    place = _caller()

    def declared(target: Target) -> Target:
        _declared.append(Declaration(name=name or "", task=target, fields=dict(fields), place=place))
        return target

    return declared


def declare(name: str, *, task: Any, **fields: Any) -> None:
    """The same for a task that is written elsewhere, by its name: in `routines.py` of an app, which is found."""
    _declared.append(Declaration(name=name, task=task, fields=dict(fields), place=_caller()))


def declarations() -> list[Declaration]:
    """All that have been noted so far, in the order of their modules."""
    return list(_declared)


def _caller() -> str:
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename.removeprefix(_here())}:{frame.f_lineno}"


def _here() -> str:
    try:
        return os.getcwd() + os.sep
    except OSError:  # the directory is gone: no reason not to import a module
        return ""
