"""Threads that work beside the bodies of a worker process, or of its children."""

from __future__ import annotations

import threading
from collections.abc import Callable

ROUND_SECONDS = 0.5
OLD_ENOUGH_SECONDS = 1.0  # shorter runs need no heart: their start has just stamped them


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

    @property
    def is_wanted(self) -> bool:
        """It was started, and has not ended in order: it runs, or has died and is to be replaced."""
        return self._thread is not None

    def ensure(self, prepare: Callable[[], None] = lambda: None) -> None:
        """Start the thread if it does not run. Cheap: it is asked in every round.

        `prepare` comes before; but one that died is replaced by one that goes on where it was, and owes what it owed.
        """
        with self._lock:
            if not self.runs:
                if not self.is_wanted:
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
