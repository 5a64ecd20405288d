"""What a beat does now and then, beside claiming and sending."""

from __future__ import annotations

import time
from collections.abc import Callable

from routines_app.beat.guard import Guard


class Chore:
    """Something to be done every so many seconds, and at the first look."""

    def __init__(self, name: str, act: Callable[[], None], seconds: Callable[[], float], guard: Guard) -> None:
        self._name = name
        self._act = act
        self._seconds = seconds
        self._guard = guard
        self._next = 0.0

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._next - time.monotonic())

    def do_when_due(self) -> None:
        if time.monotonic() >= self._next:
            # Before acting: a chore that fails is tried again in its turn, not at once.
            self._next = time.monotonic() + self._seconds()
            self._guard.do(self._name, self._act, otherwise=None)

    def come_again(self, seconds: float) -> None:
        """Something is left to do: not only after the usual time."""
        self._next = min(self._next, time.monotonic() + seconds)
