"""A child's own place on the board: what it tells its pool's parent there, and what it reads of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from uuid import UUID

from billiard.process import current_process
from celery import signals

from routines_app.conf import get_settings
from routines_app.execution.board import PLACES, Board, Line, board
from routines_app.execution.stops import Stop
from routines_app.protocol.ledger.clock import steady_seconds

# Whom the parent has not heard for so long a child asks by itself: well before it may say that nobody answers
# (`watchdog.SILENCE_SECONDS`), and later than a parent hears that is well (`heart.LOOK_SECONDS` and
# `renewal.ASK_SECONDS`).
UNHEARD_SECONDS = 10.0


class Place:
    """Silent in a process that this child forks."""

    def __init__(self, board: Board, number: int) -> None:
        self._board = board
        self._number = number
        self._pid = os.getpid()
        self._lock = threading.RLock()
        board.wipe(number)
        board.wipe_all_of(self._pid)

    @property
    def _ours(self) -> bool:
        return os.getpid() == self._pid

    def write(self, run_id: UUID, routine_id: int | None, fence: int | None, began: float, deadline: float) -> None:
        line = Line(
            place=self._number,
            pid=self._pid,
            run_id=run_id,
            routine_id=routine_id,
            fence=fence,
            began=began,
            deadline=deadline,
            in_body=False,
        )
        if self._ours:
            with self._lock:
                self._board.write(line)

    def wipe(self, run_id: UUID) -> None:
        self._change(run_id, self._board.wipe)

    def set_in_body(self, run_id: UUID, in_body: bool) -> None:
        self._change(run_id, lambda place: self._board.set_in_body(place, in_body))

    def renew_no_lease(self, run_id: UUID) -> None:
        """It was given back; the line stays while the process is at this run."""
        self._change(run_id, self._board.renew_no_lease)

    def ends_itself(self, run_id: UUID, by: float) -> None:
        """The watchdog beside the body gets its turns: the parent need not kill, or not before that moment."""
        self._change(run_id, lambda place: self._board.set_deadline(place, by))

    def _change(self, run_id: UUID, change: Callable[[int], None]) -> None:
        """What is said of this run must not change the line of the next: a thread of the last one may come late."""
        if self._ours:
            with self._lock:
                if self._board.is_about(self._number, run_id):
                    change(self._number)

    def asked_to_stop(self, run_id: UUID) -> Stop | None:
        return self._board.asked_to_stop(self._number, run_id)

    @property
    def is_looked_after(self) -> bool:
        """Whether the parent has ever looked at the board: where it cannot see its children it does not."""
        return self._board.pulses().stamped > 0

    @property
    def is_stamped_for(self) -> bool:
        """Whether the parent tells the ledger in time that this child's run lives, and hears what the ledger says."""
        unstamped = steady_seconds() - self._board.pulses().stamped
        return unstamped <= patience_seconds() and self.unheard_seconds() <= UNHEARD_SECONDS

    @property
    def is_renewed_for(self) -> bool:
        return self.unrenewed_seconds() <= min(patience_seconds(), UNHEARD_SECONDS)

    def unheard_seconds(self) -> float:
        """How long the database has not answered the parent."""
        return steady_seconds() - self._board.pulses().heard

    def unrenewed_seconds(self) -> float:
        """How long Redis has not answered the parent."""
        return steady_seconds() - self._board.pulses().renewed


def patience_seconds() -> float:
    """A parent that has been silent for longer is not waited for: early enough to not be called an orphan."""
    settings = get_settings()
    beat = settings.heartbeat_seconds
    return min(1.5 * beat, (beat + settings.orphan_seconds) / 2)


_place: Place | None = None


def own_place() -> Place | None:
    """In a child of a prefork pool its place; None elsewhere, and where a child did not inherit the board."""
    global _place
    shared = board()
    if _place is None and shared is not None and _is_the_pools_own():
        number = getattr(current_process(), "index", None)
        if isinstance(number, int) and 0 <= number < PLACES:
            _place = Place(shared, number)
    return _place


def _is_the_pools_own() -> bool:
    """Not a process that a body has forked, which still goes by the name of the child that it was forked from."""
    return getattr(current_process(), "_parent_pid", None) == os.getppid()


@signals.worker_process_init.connect(weak=False)
def take_over_place(**_: object) -> None:
    """Before its first run: what the last child there has left must not be taken for a new one's of the same id."""
    own_place()


def _begin_anew() -> None:
    global _place
    _place = None


os.register_at_fork(after_in_child=_begin_anew)
