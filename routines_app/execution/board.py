"""The board: memory that a prefork pool's parent shares with its children.

A child writes which run it executes, and its parent tells the ledger that this run lives: a body that holds the
interpreter's lock silences every thread beside it, but not the parent. The parent writes when it last did so, and which
run it was asked to stop. Each field has one writer. A reader may meet a half-written line: it reads twice, and
takes only what was the same both times.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
from dataclasses import dataclass
from uuid import UUID

from billiard.process import current_process
from celery import signals

from routines_app.conf import get_settings
from routines_app.execution.stops import Stop

PLACES = 512  # a child beyond these looks after itself
STOPS = list(Stop)

# Native: each number is one store and one load, never half of two.
_PULSES = struct.Struct("@dd")  # when the parent last stamped, and last renewed: nothing was owed to any child then
_PID = struct.Struct("@q")
_DEADLINE = struct.Struct("@d")
# pid, run, routine of an exclusive run, fence, began, deadline, whether in its body
_LINE = struct.Struct("@q16sqqddq")
_STOP = struct.Struct("@q16s")  # a number of STOPS, from 1 on, and the run that it is meant for
_DEADLINE_AT, _IN_BODY_AT = 48, 56
_PLACE_BYTES = _LINE.size + _STOP.size
_NONE = -1
_READS = 3  # a child that changes one number of its line at this moment says nothing else than before


def boot_seconds() -> float:
    """A clock that nobody steps, that counts a suspended machine's time, and that all processes share."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one child says that it executes. Times are seconds of the monotonic clock, which all processes share."""

    place: int
    pid: int
    run_id: UUID
    routine_id: int | None
    """Of an exclusive run, whose lease is to be renewed."""
    fence: int | None
    began: float
    deadline: float
    """When its time-out is reached; infinite once the child itself sees to the end of its process."""
    in_body: bool


class Board:
    """One for each worker, made before its pool is forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PULSES.size + PLACES * _PLACE_BYTES)

    # The parent's side

    def say_pulses(self, *, stamped: float, renewed: float) -> None:
        """Nothing was owed to any child at these moments, by `boot_seconds`."""
        _PULSES.pack_into(self._memory, 0, stamped, renewed)

    def lines(self) -> list[Line]:
        found = (self.line(place) for place in range(PLACES) if self._pid(place))
        return [line for line in found if line is not None]

    def line(self, place: int) -> Line | None:
        """What is written there; None when it is nothing, or just being written."""
        seen = self._read(place)
        if seen is None:
            return None
        pid, run, routine, fence, began, deadline, in_body = _LINE.unpack(seen)
        if not pid:
            return None
        return Line(
            place=place,
            pid=pid,
            run_id=UUID(bytes=run),
            routine_id=routine or None,
            fence=None if fence == _NONE else fence,
            began=began,
            deadline=deadline,
            in_body=bool(in_body),
        )

    def _read(self, place: int) -> bytes | None:
        for _ in range(_READS):
            seen = self._memory[_at(place) : _at(place) + _LINE.size]
            if seen == self._memory[_at(place) : _at(place) + _LINE.size]:
                return seen
        return None

    def ask_to_stop(self, line: Line, stop: Stop) -> None:
        """Meant for this run alone: the child may be at its next one."""
        at = _at(line.place) + _LINE.size
        _PID.pack_into(self._memory, at, 0)
        _STOP.pack_into(self._memory, at, 0, line.run_id.bytes)
        _PID.pack_into(self._memory, at, 1 + STOPS.index(stop))

    def _pid(self, place: int) -> int:
        return int(_PID.unpack_from(self._memory, _at(place))[0])

    # A child's side

    def pulses(self) -> tuple[float, float]:
        stamped, renewed = _PULSES.unpack_from(self._memory, 0)
        return stamped, renewed

    def write(self, line: Line) -> None:
        """The process id goes last: without it the rest is not read."""
        at = _at(line.place)
        self.wipe(line.place)
        exclusive, fence = line.routine_id or 0, _NONE if line.fence is None else line.fence
        fields = (line.run_id.bytes, exclusive, fence, line.began, line.deadline, int(line.in_body))
        _LINE.pack_into(self._memory, at, 0, *fields)
        _PID.pack_into(self._memory, at, line.pid)

    def wipe(self, place: int) -> None:
        _PID.pack_into(self._memory, _at(place), 0)

    def wipe_all_of(self, pid: int) -> None:
        """A process id can come again: what its last owner has left must not be taken for ours."""
        for place in range(PLACES):
            if self._pid(place) == pid:
                self.wipe(place)

    def set_in_body(self, place: int, in_body: bool) -> None:
        _PID.pack_into(self._memory, _at(place) + _IN_BODY_AT, int(in_body))

    def set_deadline(self, place: int, deadline: float) -> None:
        _DEADLINE.pack_into(self._memory, _at(place) + _DEADLINE_AT, deadline)

    def asked_to_stop(self, place: int, run_id: UUID) -> Stop | None:
        number, run = _STOP.unpack_from(self._memory, _at(place) + _LINE.size)
        return STOPS[number - 1] if number and run == run_id.bytes else None


def _at(place: int) -> int:
    return _PULSES.size + place * _PLACE_BYTES


class Place:
    """This child's own place on the board, and what its parent says there. Silent in a process that it forks."""

    def __init__(self, board: Board, number: int) -> None:
        self._board = board
        self._number = number
        self._pid = os.getpid()
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
            self._board.write(line)

    def wipe(self) -> None:
        if self._ours:
            self._board.wipe(self._number)

    def set_in_body(self, in_body: bool) -> None:
        if self._ours:
            self._board.set_in_body(self._number, in_body)

    def ends_itself(self) -> None:
        """The watchdog beside the body gets its turns: the parent need not kill."""
        if self._ours:
            self._board.set_deadline(self._number, math.inf)

    def asked_to_stop(self, run_id: UUID) -> Stop | None:
        return self._board.asked_to_stop(self._number, run_id)

    @property
    def is_looked_after(self) -> bool:
        """Whether the parent has ever looked at the board: where it cannot see its children it does not."""
        return self._board.pulses()[0] > 0

    def unstamped_seconds(self) -> float:
        """How long ago the parent last stamped all that it had to."""
        return boot_seconds() - self._board.pulses()[0]

    def unrenewed_seconds(self) -> float:
        return boot_seconds() - self._board.pulses()[1]


def patience_seconds() -> float:
    """A parent that has been silent for longer is not waited for: early enough to not be called an orphan."""
    settings = get_settings()
    beat = settings.heartbeat_seconds
    return min(1.5 * beat, (beat + settings.orphan_seconds) / 2)


_board: Board | None = None
_place: Place | None = None


@signals.worker_init.connect(weak=False)
def put_up(**_: object) -> None:
    """Before the pool is forked; where there is none, nobody writes on it."""
    global _board
    _board = Board()


def board() -> Board | None:
    return _board


def own_place() -> Place | None:
    """In a child of a prefork pool its place; None elsewhere, and where a child did not inherit the board."""
    global _place
    if _place is None and _board is not None and _is_the_pools_own():
        number = getattr(current_process(), "index", None)
        if isinstance(number, int) and 0 <= number < PLACES:
            _place = Place(_board, number)
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
