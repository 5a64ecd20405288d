"""Work for the ledger that a worker's main process must not wait for: it has an event loop to run."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from queue import Empty, Queue

from django.db import Error, connections

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0
IDLE_SECONDS = 5.0

_jobs: Queue[Callable[[], object]] = Queue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def in_background(job: Callable[[], object]) -> None:
    """Do it in a thread of our own, in order; with the database away it is tried for half a minute."""
    global _thread
    _jobs.put(job)
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_work, name="routines-background", daemon=True)
            _thread.start()


def drain(seconds: float) -> None:
    """Wait until everything is done, but not longer than this."""
    deadline = time.monotonic() + seconds
    while _jobs.unfinished_tasks and time.monotonic() < deadline:
        time.sleep(0.05)


def _begin_anew() -> None:
    """In a forked child: neither the thread nor what it had to do is ours, and nobody would open its locks."""
    global _jobs, _lock, _thread
    _jobs, _lock, _thread = Queue(), threading.Lock(), None


os.register_at_fork(after_in_child=_begin_anew)


def _work() -> None:
    global _thread
    while True:
        try:
            job = _jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            with _lock:
                if _jobs.empty():
                    _thread = None
                    return
            continue
        try:
            _try(job)
        finally:
            connections.close_all()
            _jobs.task_done()


def _try(job: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            job()
        except Error:
            connections.close_all()
            if time.monotonic() >= give_up_at:
                logger.exception("the ledger is away; a beat will find what could not be written")
                return
            time.sleep(1)
        except Exception:
            logger.exception("background work failed")
            return
        else:
            return
