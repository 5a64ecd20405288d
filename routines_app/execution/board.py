"""The board: memory that a prefork pool's parent shares with its children.

A child writes which run it executes, and its parent tells the ledger that this run lives: a body that holds the
interpreter's lock silences every thread beside it, but not the parent. The parent writes when it last did so, and which
run it was asked to stop. Each field has one writer.

The memory is words of 8 bytes, each of them written by one store and read by one load: what is read there was written
so. (`struct.pack_into` would not do: it fills its place with zeros first.) A line has several words, and a reader may
meet it half-written: it reads twice, and takes only what was the same both times.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from celery import signals

from routines_app.execution.stops import Stop

PLACES = 512  # a child beyond these looks after itself
STOPS = list(Stop)

# Words: first the pulses, then whether monitors want events, then a line for each place.
_PULSES = 3
_EVENTS = _PULSES
_PLACES_BEGIN = _EVENTS + 1
# The line that a child writes: whole numbers, then two moments. A run's id takes two words.
_PID, _RUN, _, _ROUTINE, _FENCE, _IN_BODY, _BEGAN, _DEADLINE, _LINE = range(9)
# And what its parent writes behind that: a number of STOPS, from 1 on, and the run that it is meant for.
_STOP, _STOP_RUN, _, _PLACE = range(_LINE, _LINE + 4)
_WORD_BYTES = 8
_NONE = -1
_READS = 3  # a child that changes one number of its line at this moment says nothing else than before


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one child says that it executes. Times are seconds of the monotonic clock, which all processes share."""

    place: int
    pid: int
    run_id: UUID
    routine_id: int | None
    """Of an exclusive run, whose lease is to be renewed; None once it was given back."""
    fence: int | None
    began: float
    deadline: float
    """When its time-out is reached; later, once the child itself sees to the end of its process."""
    in_body: bool


class Pulses(NamedTuple):
    """What the parent does for its children, and when it last came to it, by `steady_seconds`."""

    stamped: float
    """No run was owed a heartbeat then."""
    heard: float
    """The database has answered. It is asked more often than it is told."""
    renewed: float
    """No lease was owed a renewal, and Redis has answered."""


class Board:
    """One for each worker, made before its pool is forked."""

    def __init__(self) -> None:
        memory = memoryview(mmap.mmap(-1, (_PLACES_BEGIN + PLACES * _PLACE) * _WORD_BYTES))
        self._numbers, self._moments = memory.cast("q"), memory.cast("d")

    # The parent's side

    def say_pulses(self, pulses: Pulses) -> None:
        for word, moment in enumerate(pulses):
            self._moments[word] = moment

    def want_events(self, wanted: bool) -> None:
        """Somebody has asked this worker for events, or for no more of them."""
        self._numbers[_EVENTS] = wanted

    def lines(self) -> list[Line]:
        found = (self.line(place) for place in range(PLACES) if self._pid(place))
        return [line for line in found if line is not None]

    def line(self, place: int) -> Line | None:
        """What is written there; None when it is nothing, or just being written."""
        seen = self._read(place)
        if seen is None:
            return None
        (pid, *run, routine, fence, in_body), (began, deadline) = seen
        if not pid:
            return None
        return Line(
            place=place,
            pid=pid,
            run_id=_of_words(run),
            routine_id=routine or None,
            fence=None if fence == _NONE else fence,
            began=began,
            deadline=deadline,
            in_body=bool(in_body),
        )

    def _read(self, place: int) -> tuple[list[int], list[float]] | None:
        for _ in range(_READS):
            seen = self._read_once(_at(place))
            if seen == self._read_once(_at(place)):
                return seen
        return None

    def _read_once(self, at: int) -> tuple[list[int], list[float]]:
        return list(self._numbers[at : at + _BEGAN]), list(self._moments[at + _BEGAN : at + _LINE])

    def ask_to_stop(self, line: Line, stop: Stop) -> None:
        """Meant for this run alone: the child may be at its next one."""
        at = _at(line.place)
        self._numbers[at + _STOP] = 0
        self._write_run(at + _STOP_RUN, line.run_id)
        self._numbers[at + _STOP] = 1 + STOPS.index(stop)

    def _pid(self, place: int) -> int:
        return self._numbers[_at(place) + _PID]

    # A child's side

    def pulses(self) -> Pulses:
        return Pulses(*self._moments[:_PULSES])

    @property
    def are_events_wanted(self) -> bool:
        return bool(self._numbers[_EVENTS])

    def write(self, line: Line) -> None:
        """The process id goes last: without it the rest is not read."""
        at = _at(line.place)
        self.wipe(line.place)
        self._write_run(at + _RUN, line.run_id)
        self._numbers[at + _ROUTINE] = line.routine_id or 0
        self._numbers[at + _FENCE] = _NONE if line.fence is None else line.fence
        self._numbers[at + _IN_BODY] = line.in_body
        self._moments[at + _BEGAN] = line.began
        self._moments[at + _DEADLINE] = line.deadline
        self._numbers[at + _PID] = line.pid

    def wipe(self, place: int) -> None:
        self._numbers[_at(place) + _PID] = 0

    def wipe_all_of(self, pid: int) -> None:
        """A process id can come again: what its last owner has left must not be taken for ours."""
        for place in range(PLACES):
            if self._pid(place) == pid:
                self.wipe(place)

    def is_about(self, place: int, run_id: UUID) -> bool:
        return self._read_run(_at(place) + _RUN) == run_id

    def set_in_body(self, place: int, in_body: bool) -> None:
        self._numbers[_at(place) + _IN_BODY] = in_body

    def renew_no_lease(self, place: int) -> None:
        self._numbers[_at(place) + _ROUTINE] = 0

    def set_deadline(self, place: int, deadline: float) -> None:
        self._moments[_at(place) + _DEADLINE] = deadline

    def asked_to_stop(self, place: int, run_id: UUID) -> Stop | None:
        # The number after the run: it is 0 from before the run is written until what it is asked is there.
        if self._read_run(_at(place) + _STOP_RUN) != run_id:
            return None
        number = self._numbers[_at(place) + _STOP]
        return STOPS[number - 1] if number else None

    def _write_run(self, at: int, run_id: UUID) -> None:
        self._numbers[at], self._numbers[at + 1] = struct.unpack("@qq", run_id.bytes)

    def _read_run(self, at: int) -> UUID:
        return _of_words(list(self._numbers[at : at + 2]))


def _at(place: int) -> int:
    return _PLACES_BEGIN + place * _PLACE


def _of_words(words: list[int]) -> UUID:
    return UUID(bytes=struct.pack("@qq", *words))


_board: Board | None = None


@signals.worker_init.connect(weak=False)
def put_up(**_: object) -> None:
    """Before the pool is forked; where there is none, nobody writes on it."""
    global _board
    _board = Board()


def board() -> Board | None:
    return _board
