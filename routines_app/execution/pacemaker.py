"""The pacemaker: in a prefork worker, the pool's parent beats the hearts of its children.

A body that holds the interpreter's lock (a long regular expression, a C extension) silences every thread of its
process, and is healthy all the same. So the parent reads on the board what its children execute, and for those that
exist and are not stopped it stamps the rows, renews the leases, and passes on who is asked to stop; interrupting is
done by the watchdog beside the body. Each child reads when that was last done, and does it by itself when the parent
falls silent.

A body that is past its time-out and its grace, and whose watchdog has not come to act, is killed with its process: not
before it has been stopped and is seen to be in that body still, because a process may be at its next run.
Behind that stands Celery's own limit, which every message carries.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import signals
from celery.concurrency.prefork import TaskPool

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.words import Reason
from routines_app.execution.background import in_background
from routines_app.execution.board import Board, Line, Pulses, board
from routines_app.execution.companion import OLD_ENOUGH_SECONDS, ROUND_SECONDS
from routines_app.execution.heart import Heart
from routines_app.execution.renewal import Renewal
from routines_app.execution.stops import Stop
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.ledger.clock import steady_seconds
from routines_app.protocol.record.outcome import failed

logger = logging.getLogger(__name__)

HEAD_START_SECONDS = 2.0  # for the watchdog beside a body that can be ended from inside
STOPPING_SECONDS = 1.0
# States of a process
STOPPED = "Tt"  # or traced: it does not run on by itself
DEAD = "ZXx"
GONE = "X"


class ChildRun:
    """A run that a child executes, for the parent's heart and renewal."""

    progress_changed = False

    def __init__(self, board: Board, line: Line) -> None:
        self.line = line
        self._board = board
        self.id: UUID = line.run_id
        self.fence = line.fence
        self.exclusive = line.routine_id is not None
        self.routine_id = line.routine_id or 0

    @property
    def is_alive(self) -> bool:
        """Its process is a child of ours, and not stopped."""
        return own_child(self.line.pid) not in DEAD + STOPPED

    def has_ended(self) -> bool:
        """Its lease was given back; or its process has died, or its row is lost, and nobody there may know of it."""
        line = self._now()
        if line is None or line.routine_id is None or own_child(self.line.pid) in DEAD:
            return True
        return self._board.asked_to_stop(self.line.place, self.id) is Stop.LOST

    def ask_to_stop(self, stop: Stop, now: float) -> bool:  # noqa: ARG002
        self._board.ask_to_stop(self.line, stop)
        return True

    def lose(self, now: float) -> None:
        self.ask_to_stop(Stop.LOST, now)
        if self.exclusive:
            leases.release_quietly(self.routine_id, str(self.id))

    def is_in_body_after(self, moment: float) -> bool:
        """Whether this very run is in its body still, past its deadline."""
        line = self._now()
        return line is not None and line.in_body and line.deadline < moment

    def _now(self) -> Line | None:
        """What the child says of this run by now; None when it is at another one."""
        line = self._board.line(self.line.place)
        same = line is not None and (line.pid, line.run_id) == (self.line.pid, self.line.run_id)
        return line if same else None

    def progress_to_write(self) -> dict[str, Any] | None:
        return None

    def keep_progress(self) -> None:
        """The child writes its own."""

    def take_lines(self) -> list[tuple[datetime, str]]:
        return []

    def give_back_lines(self, lines: list[tuple[datetime, str]]) -> None:
        """There never are any."""


class Pacemaker:
    """Looks after the runs that stand on the board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._heart = Heart(self.runs, forks=True)
        self._renewal = Renewal(self.runs)

    def start(self) -> None:
        # Before the first message is read: from their first run on the children know that somebody beats for them.
        self._say_pulses(time.monotonic())
        threading.Thread(target=self._work, name="routines-pacemaker", daemon=True).start()

    def runs(self) -> list[ChildRun]:
        """Those of children that live."""
        return [run for run in (ChildRun(self._board, line) for line in self._board.lines()) if run.is_alive]

    def _work(self) -> None:
        while True:
            try:
                self.look(time.monotonic())
            except Exception:
                logger.exception("the pacemaker stumbled and goes on")
            time.sleep(ROUND_SECONDS)

    def look(self, now: float) -> None:
        """One round over what the children execute."""
        runs = self.runs()
        overdue = now - get_settings().stop_grace_seconds - HEAD_START_SECONDS
        for run in runs:
            if run.is_in_body_after(overdue):
                _try_to_kill(run, overdue)
        lasting = [run for run in runs if now - run.line.began >= OLD_ENOUGH_SECONDS]
        if lasting:
            self._heart.ensure_beating(now)
        if any(run.exclusive for run in lasting):
            self._renewal.ensure_renewing(now)
        self._say_pulses(now)

    def _say_pulses(self, now: float) -> None:
        present = steady_seconds()
        stamped = present - self._heart.unstamped_seconds(now)
        heard = present - self._heart.silent_seconds(now)
        self._board.say_pulses(Pulses(stamped, heard, renewed=present - self._renewal.silent_seconds(now)))


def _try_to_kill(run: ChildRun, overdue: float) -> None:
    """What goes wrong with one must not keep the round from the others; it is tried again in the next."""
    try:
        kill(run, overdue)
    except Exception:
        logger.exception("run %s is past its time-out, and its process could not be killed yet", run.id)


def kill(run: ChildRun, overdue: float) -> None:
    """End the process, if it is in the body of this run still; a stopped process cannot go on to its next one."""
    with suppress(ProcessLookupError), _signals_to(run.line.pid) as send:
        if not run.is_alive:  # asked when the handle is held: it is our child's, and not a stranger's with its id
            return
        killed = False
        send(signal.SIGSTOP)
        try:
            if _stops(run.line.pid) and run.is_in_body_after(overdue):
                _tell_why(run)
                send(signal.SIGKILL)
                killed = True
        finally:
            if not killed:
                send(signal.SIGCONT)


@contextmanager
def _signals_to(pid: int) -> Iterator[Callable[[int], None]]:
    """Sends signals to the process that has this id now; where the system knows no handles, to any that has it then."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield partial(os.kill, pid)
        return
    try:
        yield partial(signal.pidfd_send_signal, handle)
    finally:
        os.close(handle)


def _tell_why(run: ChildRun) -> None:
    """Before it is done: the pool will report a lost process, and the first to end the run says why."""
    logger.warning("run %s is past its time-out and cannot be interrupted: its process is killed", run.id)
    in_background(lambda: close_run(run.id, failed(Reason.TIMEOUT, "killed: it could not be interrupted")))


def _stops(pid: int) -> bool:
    give_up_at = time.monotonic() + STOPPING_SECONDS
    while time.monotonic() < give_up_at:
        if own_child(pid) in STOPPED:
            return True
        time.sleep(0.01)
    return False


def own_child(pid: int) -> str:
    """The letter of its state; gone when it is no child of ours, because a process id can belong to anybody by now."""
    state, parent = process_state(pid)
    return state if parent == os.getpid() else GONE


def process_state(pid: int) -> tuple[str, int]:
    """The letter of its state, and its parent; dead and nobody's when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return GONE, 0
    said = text.rpartition(")")[2].split()  # its name comes before, in parentheses, and may hold anything
    return (said[0], int(said[1])) if said else (GONE, 0)


@signals.worker_ready.connect(weak=False)
def set_pace(sender: Any = None, **_: Any) -> None:
    """Where there are children, and a way to see whether they are stopped; elsewhere each looks after itself."""
    if not isinstance(getattr(sender, "pool", None), TaskPool):
        return
    shared = board()
    if shared is not None and process_state(os.getpid())[0] != GONE:
        Pacemaker(shared).start()
    else:
        logger.warning("without /proc nobody beats for this worker's children: each beats beside its own body")
