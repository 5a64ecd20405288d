"""Shutdown signals in a child of the prefork pool: they wait while the ledger is written, and take effect in a body.

Start and Finish are whole or not at all. The body can be cut short, and what Celery does when the run has ended.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from routines_app.execution.interrupts import MainThreadInterrupter, is_pool_child, shield
from routines_app.execution.watchdog import watchdog

SHUTDOWN_SIGNAL = signal.SIGUSR2  # from the pool's parent: the worker shuts down, stop and let a new row take over


@contextmanager
def shielded() -> Iterator[None]:
    if not _is_child_main():
        yield
        return
    MainThreadInterrupter.install()
    shield.wrap(signal.SIGTERM)
    shield.wrap(SHUTDOWN_SIGNAL, _interrupt_everything)
    shield.up()
    try:
        yield
    finally:
        shield.down()


@contextmanager
def exposed() -> Iterator[None]:
    if not _is_child_main():
        yield
        return
    try:
        shield.down()
        yield
    finally:
        shield.up()


def shield_again() -> None:
    """A signal at the body's last moment comes before the shield is up again."""
    if _is_child_main():
        shield.up()


def lower_shield() -> None:
    """The ledger is written: what has waited may happen now, and may raise."""
    if _is_child_main():
        shield.down()


def _is_child_main() -> bool:
    return is_pool_child() and threading.current_thread() is threading.main_thread()


def _interrupt_everything(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    watchdog().interrupt_all()
