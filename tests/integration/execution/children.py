"""Children of a pool, as a parent sees them, and a parent as they do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from routines_app.execution.board import Board, Pulses
from routines_app.execution.live import LiveRun
from routines_app.execution.place import Place
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.clock import steady_seconds

LONG_AGO = -100.0
RARE = {"HEARTBEAT_SECONDS": 40.0, "ORPHAN_SECONDS": 100.0, "LEASE_SECONDS": 100.0}


@contextmanager
def process() -> Iterator[int]:
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def written(board: Board, pid: int, run: LiveRun, *, deadline: float = float("inf"), number: int = 3) -> Place:
    """As a child with this process id would write it."""
    place = Place(board, number)
    place._pid = pid
    place.__class__ = Foreign
    run.deadline = deadline
    run.began = time.monotonic()  # too short for threads of the pacemaker's own, which would outlive the test
    run.take_place(place)
    place.set_in_body(run.id, True)
    return place


class Foreign(Place):
    """A place that this test may write on for its child."""

    _ours = True


def say(board: Board, *, ago: float = 0.0, **others: float) -> None:
    """As a parent would: it did everything so long ago, but the others."""
    present = steady_seconds()
    said = {pulse: present - others.get(pulse, ago) for pulse in Pulses._fields}
    board.say_pulses(Pulses(**said))


def heartbeat(run: LiveRun) -> Any:
    return RoutineRun.objects.get(id=run.id).heartbeat_at


def failing_at_first(really: Any) -> Any:
    calls: list[object] = []

    def fail(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise RuntimeError("can't start new thread")
        return really(*arguments)

    return fail
