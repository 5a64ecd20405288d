"""Which Celery tasks there are."""

from __future__ import annotations

import difflib
import logging
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from celery import Celery
from celery.app import app_or_default

from routines_app.core.errors import InvalidValue, UnknownTask
from routines_app.core.listing import either
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import Said, said, together
from routines_app.verbs.checking import sizes

logger = logging.getLogger(__name__)

OWN_PREFIX = "routines_app."
MAX_SHOWN = 5
ELSEWHERE = said("for a task that only its workers know, say allow_unknown_task=True")


def registered_tasks() -> list[str]:
    """The names of the tasks that this process knows, ours excepted."""
    app = app_or_default()
    if not _importing.get():
        token = _importing.set(True)
        try:
            _import_task_modules(app)
        finally:
            _importing.reset(token)
    return sorted(name for name in app.tasks if not is_ours(name))


# Celery's import of task modules runs Django's checks, and one of ours asks which tasks there are.
_importing: ContextVar[bool] = ContextVar("importing", default=False)


@lru_cache(maxsize=4)
def _import_task_modules(app: Celery) -> None:
    """A web process imports no task modules by itself; once is enough, later tasks register themselves."""
    app.loader.import_default_modules()


def known_task(field: str, value: Any) -> str:
    """The name of a registered task."""
    name = task_name(field, value)
    if wrong := doubt_about(name):
        raise UnknownTask(field, name, together("; ", [wrong, ELSEWHERE]))
    return name


def any_task(field: str, value: Any) -> str:
    """The name of a task, which may live where this process cannot see it: that is only said."""
    name = task_name(field, value)
    if wrong := doubt_about(name):
        logger.warning("task %s is taken as it is: %s", name, wrong)
    return name


def task_name(field: str, value: Any) -> str:
    """A name that a task of a project can have; a task itself stands for its name."""
    if not isinstance(value, str):
        value = _name_of(field, value)
    if not 0 < len(value) <= sizes.LONGEST_TASK or not value.isprintable() or is_ours(value):
        expected = said(
            "give the registered name of a Celery task of yours, at most {most} characters", most=sizes.LONGEST_TASK
        )
        raise InvalidValue(field, value, expected)
    return str(value)


def is_ours(name: str) -> bool:
    return name.startswith(OWN_PREFIX) or name == TICK_TASK


def doubt_about(name: str) -> str:
    """What is wrong with a task's name, and which may have been meant; empty for one that is registered."""
    names = registered_tasks()
    return "" if name in names else _suggestion(name, names)


def _name_of(field: str, value: Any) -> str:
    name = getattr(value, "name", None)
    if isinstance(name, str) and callable(value):
        return name
    raise InvalidValue(field, value, said("give the registered name of a Celery task"))


def _suggestion(value: str, names: list[str]) -> Said:
    ending = [name for name in names if name.rpartition(".")[2] == value.rpartition(".")[2]]
    close = list(dict.fromkeys([*ending, *difflib.get_close_matches(value, names, n=3)]))[:MAX_SHOWN]
    if close:
        return said("no such task is registered; did you mean {names}?", names=either(close))
    shown = ", ".join(name for name in names if not name.startswith("celery."))[:500]
    if not shown:
        return said("no such task is registered; registered: none at all")
    return said("no such task is registered; registered: {names}", names=shown)
