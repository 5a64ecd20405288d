"""How a body is interrupted, and how everything else is not.

Python can be asked to raise an exception in running code in three ways, by where the code runs: a signal for the main
thread (prefork, solo; it also ends a sleep), an asynchronous exception for another thread (between two bytecodes, so a
sleeping body sees it late), a thrown exception for a greenlet. Each is asked for with the run's lock held and only
while its body runs. One that comes too late, because the body ended at that very moment, is swallowed here: it must not
hit Finish, nor the next task.

Celery's own soft limit comes by the same signal, from the pool's parent, and knows nothing of this: it counts from the
delivery on. Where it would cut Start or Finish in half it is ignored.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from billiard.process import current_process

from routines_app.execution.stops import Stop, interruption

SIGNAL = signal.SIGUSR1  # what Celery uses for soft time limits: code that expects those expects this


class Interruptible(Protocol):
    """The part of a live run that matters here."""

    in_body: bool
    stop: Stop | None


class Interrupter(Protocol):
    """Raises `SoftTimeLimitExceeded` in a body, or what else goes with its stop."""

    can_end_process: bool
    """A body that will not stop can be ended with its process."""

    def interrupt(self, run: Interruptible) -> None:
        """Ask for the exception; the run's lock is held and its body runs."""

    def body_over(self) -> None:
        """The body has ended: take back what was asked for and has not happened."""


def interrupter() -> Interrupter:
    """The way to interrupt what runs here and now."""
    if _is_green():
        return GreenletInterrupter()
    if threading.current_thread() is threading.main_thread():
        return MainThreadInterrupter()
    return ThreadInterrupter()


def is_pool_child() -> bool:
    """A process of the prefork pool: the pool replaces it when it ends."""
    return bool(current_process().name != "MainProcess")


def _is_green() -> bool:
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


class MainThreadInterrupter:
    """By a signal to this process's main thread."""

    _target: Interruptible | None = None
    _before: Any = None

    def __init__(self) -> None:
        self.can_end_process = is_pool_child()
        self.install()

    @staticmethod
    def install() -> None:
        """Take the signal over; what handled it before gets what is not ours."""
        if signal.getsignal(SIGNAL) != MainThreadInterrupter._handle:
            MainThreadInterrupter._before = signal.getsignal(SIGNAL)
            signal.signal(SIGNAL, MainThreadInterrupter._handle)

    def interrupt(self, run: Interruptible) -> None:
        MainThreadInterrupter._target = run
        ident = threading.main_thread().ident
        assert ident is not None  # nosec B101 # for the type checker
        signal.pthread_kill(ident, SIGNAL)

    def body_over(self) -> None:
        """Nothing: a signal that is still on its way finds the body over and is swallowed."""

    @staticmethod
    def _handle(number: int, frame: FrameType | None) -> None:
        target, MainThreadInterrupter._target = MainThreadInterrupter._target, None
        if target is None:  # not from us; without a run of ours it is another task's business
            if not shield.is_up:
                _call(MainThreadInterrupter._before, number, frame)
        elif target.in_body:
            raise interruption(target.stop)


class ThreadInterrupter:
    """By an asynchronous exception in the thread that made this."""

    can_end_process = False

    def __init__(self) -> None:
        self._ident = ctypes.c_ulong(threading.get_ident())

    def interrupt(self, run: Interruptible) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._ident, ctypes.py_object(interruption(run.stop)))

    def body_over(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._ident, None)


class GreenletInterrupter:
    """By throwing into the greenlet that made this."""

    can_end_process = False

    def __init__(self) -> None:
        import gevent

        self._greenlet = gevent.getcurrent()
        self._loop = gevent.get_hub().loop

    def interrupt(self, run: Interruptible) -> None:
        self._loop.run_callback_threadsafe(self._throw, run)

    def _throw(self, run: Interruptible) -> None:
        # Called by the hub, so the body does not run at this moment and cannot end between the question and the throw.
        if run.in_body and not self._greenlet.dead:
            self._greenlet.throw(interruption(run.stop))

    def body_over(self) -> None:
        """Nothing: a throw that is still to come finds the body over."""


class Shield:
    """Puts off the signals that end a pool's child while something runs that must not be cut in half.

    Not by the signal mask: another thread would take the signal and Python would still run its handler in the main
    thread. The handlers themselves are wrapped, and what came in the meantime is done when the shield is lowered.
    """

    def __init__(self) -> None:
        self._raised = False
        self._waiting: list[Callable[[], None]] = []
        self._wrapped: dict[int, Any] = {}

    def wrap(self, number: int, handler: Callable[[int, FrameType | None], Any] | None = None) -> None:
        """Make this signal wait for the shield; `handler` replaces what is installed."""
        installed = signal.getsignal(number)
        if installed is self._wrapped.get(number):
            return
        before = handler or installed

        def wrapper(number: int, frame: FrameType | None) -> None:
            if self._raised:
                self._waiting.append(lambda: _call(before, number, frame))
            else:
                _call(before, number, frame)

        self._wrapped[number] = wrapper
        signal.signal(number, wrapper)

    @property
    def is_up(self) -> bool:
        return self._raised

    def up(self) -> None:
        self._raised = True

    def down(self) -> None:
        """Lower the shield and do what has waited for it; that may raise."""
        self._raised = False
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()


shield = Shield()


def _call(handler: Any, number: int, frame: FrameType | None) -> None:
    if handler is signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    elif callable(handler):
        handler(number, frame)
