"""A run that this process executes: what the executor, the watchdog and the heart share about it.

Executor and watchdog meet under the run's lock: the end of the body is marked under it, so that nothing is interrupted
that comes after the body.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from datetime import datetime, timedelta
from math import inf
from typing import Any
from uuid import UUID

from routines_app.conf import get_settings
from routines_app.core.limits import Limits, limits
from routines_app.execution.interrupts import Interrupter
from routines_app.execution.place import Place
from routines_app.execution.stops import Stop
from routines_app.protocol.end.finish import give_lease_back
from routines_app.protocol.record.facts import RunFacts

logger = logging.getLogger(__name__)


class LiveRun:
    """One started run. Times are seconds of the monotonic clock."""

    def __init__(
        self, facts: RunFacts, interrupter: Interrupter | None, began: float, allowed: Limits | None = None
    ) -> None:
        """`allowed` is how long its body may run, when the task has limits of its own."""
        allowed = allowed or limits(facts.timeout_ms, grace=get_settings().stop_grace_seconds)
        self.facts = facts
        self.interrupter = interrupter
        self.began = began
        self.deadline = began + allowed.stop_after
        self._own_end = None if allowed.end_after is None else began + allowed.end_after
        self.in_body = False
        self.place: Place | None = None  # where the parent of a prefork pool reads that this run lives
        self._pid = os.getpid()
        self._ended = threading.Event()  # the lease is not renewed any more
        self.stop: Stop | None = None
        self.stopped_at = 0.0
        self.overdue = False
        # Re-entrant: a signal handler of the main thread may come while that thread holds it.
        self.lock = threading.RLock()
        self._progress: dict[str, Any] | None = None
        self._progress_written = True
        self._lines: deque[tuple[datetime, str]] = deque(maxlen=get_settings().max_log_lines)

    @property
    def id(self) -> UUID:
        return self.facts.id

    @property
    def fence(self) -> int | None:
        return self.facts.fence

    @property
    def routine_id(self) -> int:
        return self.facts.routine_id

    @property
    def exclusive(self) -> bool:
        return self.facts.exclusive

    @property
    def is_ours(self) -> bool:
        """False in a process that the body has forked: whatever happens there says nothing about the run."""
        return os.getpid() == self._pid

    @property
    def deadline_at(self) -> datetime | None:
        started_at, seconds = self.facts.started_at, self.deadline - self.began
        return started_at + timedelta(seconds=seconds) if started_at and seconds < inf else None

    # The body's begin and end

    def take_place(self, place: Place) -> None:
        """From now on the pool's parent tells the ledger that it lives."""
        self.place = place
        # The parent adds the usual grace: a task that has an end of its own gets what is left until then.
        usual = get_settings().stop_grace_seconds
        deadline = self.deadline if self._own_end is None else self._own_end - usual
        place.write(self.id, self.routine_id if self.exclusive else None, self.fence, self.began, deadline)

    def enter_body(self) -> None:
        with self.lock:
            self.in_body = True
            if self.place is not None:
                self.place.set_in_body(self.id, True)

    def leave_body(self) -> None:
        """May be called twice. The flag goes first: whatever comes later finds the body over."""
        self.in_body = False
        if self.place is not None:
            self.place.set_in_body(self.id, False)
        with self.lock:
            if self.interrupter is not None:
                self.interrupter.body_over()

    def give_lease_back(self) -> None:
        """The run has ended. The flag goes first: a renewal at this very moment would re-create the lease."""
        self._ended.set()
        if self.place is not None:
            self.place.renew_no_lease(self.id)
        give_lease_back(self.facts)

    def end(self) -> None:
        """This process is no longer at it: nobody speaks for it any more."""
        self._ended.set()
        if self.place is not None:
            self.place.wipe(self.id)

    def has_ended(self) -> bool:
        return self._ended.is_set()

    # Stopping

    def ask_to_stop(self, stop: Stop, now: float) -> bool:
        """Interrupt the body, once: the first reason counts. False when there is nothing (more) to interrupt."""
        with self.lock:
            if not self.in_body or self.stop is not None:
                return False
            self.stop, self.stopped_at = stop, now
            if self.interrupter is not None:
                self.interrupter.interrupt(self)
            return True

    def lose(self, now: float) -> None:
        """Its row is no longer ours: the body must not go on, and the lease is not ours to keep.

        A body that cannot be stopped would keep it for as long as it lasts.
        """
        self.ask_to_stop(Stop.LOST, now)
        if not self.has_ended():
            self.give_lease_back()

    def is_over_grace(self, now: float) -> bool:
        """Its body was asked to stop, and has had its time to do so."""
        return self.in_body and self.stop is not None and now >= self._grace_ends

    @property
    def _grace_ends(self) -> float:
        if self.stop is Stop.TIMEOUT and self._own_end is not None:
            return self._own_end
        return self.stopped_at + get_settings().stop_grace_seconds

    # What the task says about itself

    def set_progress(self, progress: dict[str, Any]) -> None:
        with self.lock:
            self._progress, self._progress_written = progress, False

    def progress_to_write(self) -> dict[str, Any] | None:
        """The progress if it changed since it was last asked for."""
        with self.lock:
            if self._progress_written:
                return None
            self._progress_written = True
            return self._progress

    def keep_progress(self) -> None:
        """It could not be written: the next time is as good."""
        with self.lock:
            self._progress_written = self._progress is None

    @property
    def progress_changed(self) -> bool:
        return not self._progress_written

    @property
    def last_progress(self) -> dict[str, Any] | None:
        return self._progress

    def add_line(self, at: datetime, line: str) -> None:
        with self.lock:
            self._lines.append((at, line))

    def take_lines(self) -> list[tuple[datetime, str]]:
        with self.lock:
            lines = list(self._lines)
            self._lines.clear()
            return lines

    @property
    def has_news(self) -> bool:
        """Whether the task has said something that is not in the ledger yet."""
        return self.progress_changed or bool(self._lines)

    def give_back_lines(self, lines: list[tuple[datetime, str]]) -> None:
        """They could not be written: keep them, in order, as far as there is room."""
        with self.lock:
            self._lines.extendleft(reversed(lines[-(self._room) :] if self._room else []))

    @property
    def _room(self) -> int:
        return (self._lines.maxlen or 0) - len(self._lines)
