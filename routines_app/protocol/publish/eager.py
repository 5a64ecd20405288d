"""`task_always_eager`: a run starts and finishes inline, without a broker, a beat or Redis."""

from __future__ import annotations

from collections.abc import Iterable

from celery import current_app

from routines_app.coordination.envelope import EXECUTE_TASK


def is_eager() -> bool:
    return bool(current_app.conf.task_always_eager)


def run_inline(run_ids: Iterable[str]) -> None:
    """Execute these runs here and now, one after another."""
    task = current_app.tasks[EXECUTE_TASK]
    for run_id in run_ids:
        task.apply(args=(run_id,), task_id=run_id)
