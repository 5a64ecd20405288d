"""A process that a task's body has forked must not come out of that body: it would live on as one more worker."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress

from routines_app.execution.live import LiveRun

logger = logging.getLogger(__name__)


def leave_if_forked(live: LiveRun, error: BaseException | None = None) -> None:
    """In a forked process: end here, with the exit code that Python would give it. Elsewhere nothing happens.

    The run is its parent's: nothing is recorded, no handler or signal is called, and nothing is cleaned up, because
    every connection that could be closed here is the parent's too.
    """
    if live.is_ours:
        return
    try:
        if error is not None and not isinstance(error, SystemExit):
            logger.error("a process that run %s has forked ended by an exception", live.id, exc_info=error)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
    finally:
        os._exit(_exit_code(error))


def _exit_code(error: BaseException | None) -> int:
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        return 1
    if isinstance(error.code, int):
        return error.code & 0xFF
    return 0 if error.code is None else 1
