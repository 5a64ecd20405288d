"""The heart: tells the ledger that a worker's runs live, and hears what the ledger has to say.

A thread that exists only while some run lasts longer than a moment. Every HEARTBEAT_SECONDS one statement stamps all of
them and brings back stop requests; in between it listens for stop messages in Redis and, should one be lost, looks
every LOOK_SECONDS. In a prefork worker the pool's parent has one for the runs of all its children; a child's own only
writes what its task has said, as long as the parent's beats.
A run is lost only when its row is no longer RUNNING and ours.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import Error, connections

from routines_app.conf import get_settings
from routines_app.coordination import wakeups
from routines_app.execution.companion import Companion
from routines_app.execution.stops import stop_of
from routines_app.execution.watched import Watched
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias
from routines_app.protocol.ledger.database_errors import retrying_conflicts
from routines_app.protocol.run.heartbeat import Pulse, beat_heart, look, write_log

logger = logging.getLogger(__name__)

LISTEN_SECONDS = 0.5
LOOK_SECONDS = 2.0  # stop requests whose message was lost are seen after this long
WRITE_SECONDS = 1.0  # progress and log lines are written at most this often
IDLE_SECONDS = 10.0


class Heart:
    """Beats for the runs that `runs` gives, while it is `alone` with that."""

    def __init__(
        self, runs: Callable[[], Sequence[Watched]], alone: Callable[[], bool] = lambda: True, *, forks: bool = False
    ) -> None:
        """`forks`: this process makes others while the heart beats."""
        self._runs = runs
        self._alone = alone
        self._forks = forks
        self._companion = Companion("routines-heart", self._beat)
        self._heard_at = 0.0
        self._stamped_at = 0.0
        self._busy_at = 0.0
        self._away = False
        self._due = {"beat": 0.0, "look": 0.0, "write": 0.0}

    def ensure_beating(self, now: float, silent: float | None = None) -> None:
        """Start the thread if it does not run. Cheap: it is asked in every round of the watchdog.

        `silent`: who beat for these runs before has not heard the database for so long.
        """
        self._companion.ensure(lambda: self._begin(now, silent))

    @property
    def runs(self) -> bool:
        return self._companion.runs

    def silent_seconds(self, now: float) -> float:
        """How long the database has not answered; 0 when it has not been asked."""
        return now - self._heard_at if self._companion.is_wanted else 0.0

    def unstamped_seconds(self, now: float) -> float:
        """How long ago all runs were last stamped; 0 when there are none."""
        return now - self._stamped_at if self._companion.is_wanted else 0.0

    def _begin(self, now: float, silent: float | None) -> None:
        self._heard_at = self._stamped_at = now - (silent or 0.0)
        # The runs' own starts were their first heartbeats, unless another's heart has stopped since.
        first = now if silent else now + get_settings().heartbeat_seconds / 2
        self._due = dict.fromkeys(self._due, 0.0) | {"beat": first}

    def _beat(self) -> None:
        listener = wakeups.Listener(wakeups.STOPS)
        self._busy_at = time.monotonic()
        try:
            while True:
                told = self._listen(listener)
                if self._round(time.monotonic(), told):
                    return
        finally:
            listener.close()
            connections.close_all()

    def _listen(self, listener: wakeups.Listener) -> set[str]:
        try:
            if self._alone():
                return {run_id for text in listener.wait(LISTEN_SECONDS) for run_id in text.split(",")}
        except Exception:
            logger.exception("stop messages could not be heard; the ledger is looked at all the same")
        time.sleep(LISTEN_SECONDS)
        return set()

    def _round(self, now: float, told: set[str]) -> bool:
        """Whether it was the last one."""
        try:
            runs = self._runs()
            self._busy_at = now if runs else self._busy_at
            if now - self._busy_at > IDLE_SECONDS and self._companion.end_unless(self._runs):
                return True
            self._speak(runs, now, told)
        except Error as error:
            self._note_away(error)
            connections.close_all()
        except Exception:
            logger.exception("a heartbeat failed; the next one is tried in its turn")
        finally:
            # psycopg knows whose a connection is. Other drivers say goodbye in the name of the process that opened it.
            if self._forks and not is_postgresql(ledger_alias()):
                connections.close_all()
        return False

    def _speak(self, runs: Sequence[Watched], now: float, told: set[str]) -> None:
        if not runs:
            self._stamped_at = self._heard_at = now
            return
        alone = self._alone()
        if alone and self._is_due("beat", now, get_settings().heartbeat_seconds):
            self._stamp(runs)
            self._stamped_at = now
        if alone and (told & {str(run.id) for run in runs} or self._is_due("look", now, LOOK_SECONDS)):
            self._hear(runs, look([run.id for run in runs]))
        if self._is_due("write", now, WRITE_SECONDS):
            self._write(runs)

    def _is_due(self, what: str, now: float, seconds: float) -> bool:
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _stamp(self, runs: Sequence[Watched]) -> None:
        unknown = list(runs)
        try:
            said = {run.id: run.progress_to_write() for run in runs}
            # A deadlock with the end of one of them is no outage: the others would be told of one.
            pulses = retrying_conflicts(lambda: beat_heart(said))
            unknown = [run for run in runs if run.id in pulses and not pulses[run.id].stamped]
            self._hear(runs, pulses)
        finally:
            # The database is away, or somebody has locked the row: what is owed is tried again soon.
            for run in unknown:
                run.keep_progress()
            if unknown:
                self._due["beat"] = time.monotonic() + LOOK_SECONDS

    def _hear(self, runs: Sequence[Watched], pulses: dict[UUID, Pulse]) -> None:
        """Act on what the ledger says about each run."""
        now = self._heard_at = time.monotonic()
        self._away = False
        for run in runs:
            pulse = pulses.get(run.id)
            if pulse is None or pulse.fence != run.fence:
                run.lose(now)
            elif pulse.stop_reason:
                run.ask_to_stop(stop_of(pulse.stop_reason), now)

    def _write(self, runs: Sequence[Watched]) -> None:
        changed = [run for run in runs if run.progress_changed]
        if changed:
            self._stamp(changed)
        for run in runs:
            write_lines(run, wait=False)

    def _note_away(self, error: Error) -> None:
        if not self._away:
            logger.warning("the ledger cannot be reached, heartbeats wait: %s", error)
        self._away = True


def write_lines(run: Watched, *, wait: bool = True) -> None:
    """Write the log lines that the task has said since the last time. The heart does not `wait` for a locked row."""
    lines = run.take_lines()
    if not lines:
        return
    written = False
    try:
        written = write_log(run.id, run.fence, lines, wait=wait)
    finally:
        if not written:
            run.give_back_lines(lines)
