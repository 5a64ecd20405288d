"""How far long work is."""

from __future__ import annotations

import sys
import time

TELL_SECONDS = 5.0  # between two lines


class Telling:
    """A line now and then on stderr, where it is in nobody's way, and none if it takes only a moment."""

    def __init__(self, what: str) -> None:
        self._what, self._told_at = what, time.monotonic()

    def __call__(self, done: int) -> None:
        if time.monotonic() - self._told_at > TELL_SECONDS:
            self._told_at = time.monotonic()
            sys.stderr.write(f"{done} {self._what} …\n")
