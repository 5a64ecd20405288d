"""Threads that work beside the bodies of a worker process."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Companion:
    """A thread that exists only while there is something to do; one that died by an error is replaced."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name = name
        self._work = work
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def thread(self) -> threading.Thread | None:
        return self._thread

    @property
    def runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def ensure(self, prepare: Callable[[], None] = lambda: None) -> None:
        """Start the thread if it does not run, after `prepare`. Cheap: it is asked in every round."""
        with self._lock:
            if not self.runs:
                prepare()
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def end_unless(self, needed: Callable[[], object]) -> bool:
        """Called by the thread itself: True when it is to return. Whoever needs it from now on starts a new one."""
        with self._lock:
            if needed():
                return False
            self._thread = None
            return True
