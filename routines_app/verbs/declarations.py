"""What the project's code declares, read as routines: `@routine`, `declare` in a `routines.py`, and the settings.

| where                                    | what it says                                                     |
| ---------------------------------------- | ---------------------------------------------------------------- |
| `@routine(…)` on a task                  | fields of the routine; the task is that one                      |
| `declare(name, task=…)` in `routines.py` | the same; of each app in INSTALLED_APPS                          |
| `ROUTINES["DECLARED"]`, `ROUTINES_DECLARED` | names, each with its fields                                   |

What is wrong with one is said with its place, and the others are read all the same. A name that two places declare is
nobody's: which of them came first depends on who imports what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from celery import Task
from celery.app import app_or_default
from celery.local import Proxy
from django.conf import settings
from django.utils.module_loading import autodiscover_modules

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue, RoutineError
from routines_app.core.said import said
from routines_app.declaring import Declaration, declarations
from routines_app.models import DECLARED_IN_CODE
from routines_app.verbs.checking.known_tasks import registered_tasks, task_name
from routines_app.verbs.declare import check_declared

MODULES = "routines"  # of an app: what is imported to find declarations, beside its tasks
IN_SETTINGS, AS_SETTING = "ROUTINES['DECLARED']", "ROUTINES_DECLARED"
TASKS = "tasks"  # the part of a task's name that says nothing about it


@dataclass(slots=True)
class Found:
    """What a schedule, or the code, comes to."""

    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The fields of each routine."""
    refused: dict[str, str] = field(default_factory=dict)
    """What cannot be a routine, and why."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Options of entries that are not carried, some with the reason."""
    places: dict[str, list[str]] = field(default_factory=dict)
    """Where each is declared."""

    @property
    def names(self) -> list[str]:
        """All that is declared, also what is refused: its routine is not to be archived."""
        return [*self.fields, *(name for name in self.refused if name not in self.fields)]


def code_scope() -> str:
    """Of the project, whichever of its processes asks."""
    return f"{DECLARED_IN_CODE}{get_settings().declared_scope}"


def read_declarations() -> Found:
    """Every declaration. Imports task modules and `routines` modules, and raises what they raise; asks no database."""
    registered_tasks()
    autodiscover_modules(MODULES)
    found, read = Found(), dict[tuple[str, str], Declaration]()
    for each in [*declarations(), *_of_settings()]:
        name = _key(each)
        before = read.setdefault((name, each.place), each)
        if before is not each and _is_again(before, each):
            continue  # the module was imported again
        found.places.setdefault(name, []).append(each.place)
        _read(found, name, each)
    return found


def _key(each: Declaration) -> str:
    return str(each.name) if each.name else _name_of(each)


def _is_again(before: Declaration, each: Declaration) -> bool:
    """The same words from the same place. A helper that declares twice says different ones, from one place too."""
    return before.fields == each.fields and _name_of(before) == _name_of(each)


def _read(found: Found, name: str, each: Declaration) -> None:
    places = found.places[name]
    if len(places) > 1:
        found.fields.pop(name, None)
        found.refused[name] = f"name: {name!r} is declared twice: in {' and in '.join(places)}; give one another name"
        return
    try:
        fields = _fields(each)
        check_declared({**fields, "name": each.name or name})
    except Exception as error:  # noqa: BLE001 - whatever somebody has written there: the others are read
        found.refused[name] = str(error) if isinstance(error, RoutineError) else f"{type(error).__name__}: {error}"
        return
    found.fields[name] = fields


def _fields(each: Declaration) -> dict[str, Any]:
    if not isinstance(each.fields, Mapping):
        raise InvalidValue("fields", each.fields, said('give the fields of a routine: {"task": …, "cron": …}'))
    for own in ("name", "task"):
        if own in each.fields:
            raise InvalidValue(own, each.fields[own], said("it is said where the routine is declared"))
    return {**each.fields, "task": _task_of(each)}


def _of_settings() -> Iterator[Declaration]:
    for place, declared in ((IN_SETTINGS, get_settings().declared), (AS_SETTING, getattr(settings, AS_SETTING, {}))):
        if not isinstance(declared, Mapping):
            raise InvalidValue(
                place, declared, said('give names with their fields: {"nightly": {"task": …, "cron": …}}')
            )
        for name, given in declared.items():
            fields, task = given, None
            if isinstance(given, Mapping):
                fields, task = {key: value for key, value in given.items() if key != "task"}, given.get("task")
            yield Declaration(name=str(name), task=task, fields=fields, place=place)


def _name_of(each: Declaration) -> str:
    """Of one that has no name: the task's, without the part that says nothing."""
    try:
        task = _task_of(each)
    except RoutineError:
        task = f"{getattr(each.task, '__module__', '')}.{getattr(each.task, '__qualname__', each.task)}"
    parts = task.split(".")
    return ".".join([*(part for part in parts[:-1] if part != TASKS), parts[-1]])


def _task_of(each: Declaration) -> str:
    """The name of the task. It was not asked for at the import: that would have made the app's tasks too early."""
    if isinstance(each.task, str) or each.task is None:
        return task_name("task", each.task)
    if issubclass(type(each.task), Proxy | Task):
        return task_name("task", each.task.name)
    named = (name for name, task in app_or_default().tasks.items() if _is_made_of(task, each.task))
    name = next(named, None)
    if name is None and isinstance(each.task, type) and issubclass(each.task, Task):
        expected = said(
            "declare it by its name, declare(…, task=…), or give what app.register_task returns: this is its class"
        )
        raise InvalidValue("task", each.task.__qualname__, expected)
    if name is None:
        expected = said("put @routine on a task: @shared_task or @app.task has to stand above or below it")
        raise InvalidValue("task", getattr(each.task, "__qualname__", each.task), expected)
    return name


def _is_made_of(task: Any, function: Any) -> bool:
    """Celery, and other decorators, keep what they wrap."""
    made = getattr(task, "__wrapped__", None)
    while made is not None:
        made = getattr(made, "__func__", made)
        if made is function:
            return True
        made = getattr(made, "__wrapped__", None)
    return False
