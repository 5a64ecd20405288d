"""Celery's Django fix-up closes every database connection before and after each task: not those of a run.

A run's Start and Finish need the connection that its task has, and it is to outlive them all: opening one costs more
than a short run. The executor looks after connections itself. Other tasks of this worker are served as ever.
"""

from __future__ import annotations

from typing import Any

from celery import current_app
from celery.fixups.django import DjangoFixup

from routines_app.protocol.run.current import current_run

_kept: set[int] = set()


def keep_connections_open() -> None:
    """Teach the fix-up of this process's app, once. Cheap: it is asked before each run."""
    app: Any = current_app
    app = app._get_current_object()
    if id(app) not in _kept:
        _kept.add(id(app))
        for fixup in app._fixups or ():
            if isinstance(fixup, DjangoFixup):
                _teach(fixup.worker_fixup)


def _teach(fixup: Any) -> None:
    close = fixup.close_database

    def close_unless_in_a_run(**facts: Any) -> None:
        if current_run() is None:
            close(**facts)

    fixup.close_database = close_unless_in_a_run
