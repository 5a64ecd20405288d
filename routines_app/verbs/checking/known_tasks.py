"""Which Celery tasks there are."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

from celery import Celery
from celery.app import app_or_default

from routines_app.core.errors import InvalidValue, UnknownTask
from routines_app.verbs.checking import limits

OWN_PREFIX = "routines_app."
MAX_SHOWN = 5


def registered_tasks() -> list[str]:
    """The names of the tasks that this process knows, ours excepted."""
    app = app_or_default()
    _import_task_modules(app)
    return sorted(name for name in app.tasks if not name.startswith(OWN_PREFIX))


@lru_cache(maxsize=4)
def _import_task_modules(app: Celery) -> None:
    """A web process imports no task modules by itself; once is enough, later tasks register themselves."""
    app.loader.import_default_modules()


def known_task(field: str, value: Any) -> str:
    """The name of a registered task."""
    if not isinstance(value, str):
        value = _name_of(field, value)
    if len(value) > limits.LONGEST_TASK:
        raise InvalidValue(
            field, value, f"give the registered name of a Celery task, at most {limits.LONGEST_TASK} characters"
        )
    names = registered_tasks()
    if value in names:
        return str(value)
    raise UnknownTask(field, value, _suggestion(value, names))


def _name_of(field: str, value: Any) -> str:
    """A task object stands for its name."""
    name = getattr(value, "name", None)
    if isinstance(name, str) and callable(value):
        return name
    raise InvalidValue(field, value, "give the registered name of a Celery task")


def _suggestion(value: str, names: list[str]) -> str:
    ending = [name for name in names if name.rpartition(".")[2] == value.rpartition(".")[2]]
    close = list(dict.fromkeys([*ending, *difflib.get_close_matches(value, names, n=3)]))[:MAX_SHOWN]
    if close:
        return f"no such task is registered; did you mean {' or '.join(close)}?"
    shown = ", ".join(name for name in names if not name.startswith("celery."))[:500] or "none at all"
    return f"no such task is registered; registered: {shown}"
