"""A task's own time limits, as Celery knows them: the task's, else those of the worker's command line."""

from __future__ import annotations

from typing import Any, NamedTuple

from celery import signals
from celery.app.task import Task

from routines_app.conf import get_settings
from routines_app.core.limits import Limits, limits


class Own(NamedTuple):
    """Seconds; None or 0 is no limit."""

    soft: float | None
    hard: float | None


_workers = Own(None, None)


@signals.worker_init.connect(weak=False)
def note_workers_limits(sender: Any = None, **_: Any) -> None:
    """Before the pool is forked. A task has the limits of the settings by itself, those of a command line not."""
    global _workers
    _workers = Own(getattr(sender, "soft_time_limit", None), getattr(sender, "time_limit", None))


def own_limits(task: Task[..., Any] | None) -> Own:
    """What holds for this task by itself; None is a task that is not known here."""
    if task is None:
        return _workers
    return Own(task.soft_time_limit or _workers.soft, task.time_limit or _workers.hard)


def allowed(timeout_ms: int | None, task: Task[..., Any] | None) -> Limits:
    """How long a run with this time-out may take this task."""
    own = own_limits(task)
    return limits(timeout_ms, soft=own.soft, hard=own.hard, grace=get_settings().stop_grace_seconds)
