"""The heart: tells the ledger that this process's runs live, and hears what the ledger has to say.

A thread that exists only while some run lasts longer than a moment. Every HEARTBEAT_SECONDS one statement stamps all of
them and brings back stop requests; in between it listens for stop messages in Redis and, should one be lost, looks
every LOOK_SECONDS.
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
from routines_app.execution.live import LiveRun
from routines_app.execution.stops import Stop, stop_of
from routines_app.protocol.run.heartbeat import Pulse, beat_heart, look, write_log

logger = logging.getLogger(__name__)

LISTEN_SECONDS = 0.5
LOOK_SECONDS = 2.0  # stop requests whose message was lost are seen after this long
WRITE_SECONDS = 1.0  # progress and log lines are written at most this often
IDLE_SECONDS = 10.0


class Heart:
    """Beats for the runs that `runs` gives."""

    def __init__(self, runs: Callable[[], list[LiveRun]]) -> None:
        self._runs = runs
        self._companion = Companion("routines-heart", self._beat)
        self._heard_at = 0.0
        self._away = False
        self._due = {"beat": 0.0, "look": 0.0, "write": 0.0}

    def ensure_beating(self, now: float) -> None:
        """Start the thread if it does not run. Cheap: it is asked in every round of the watchdog."""
        self._companion.ensure(lambda: self._begin(now))

    def silent_seconds(self, now: float) -> float:
        """How long the database has not answered; 0 when it has not been asked."""
        return now - self._heard_at if self._companion.runs else 0.0

    def _begin(self, now: float) -> None:
        self._heard_at = now
        # The runs' own starts were their first heartbeats.
        self._due = dict.fromkeys(self._due, 0.0) | {"beat": now + get_settings().heartbeat_seconds / 2}

    def _beat(self) -> None:
        listener = wakeups.Listener(wakeups.STOPS)
        busy_at = time.monotonic()
        try:
            while True:
                told = self._listen(listener)
                now = time.monotonic()
                runs = self._runs()
                busy_at = now if runs else busy_at
                if now - busy_at > IDLE_SECONDS and self._companion.end_unless(self._runs):
                    return
                self._round(runs, now, told)
        finally:
            listener.close()
            connections.close_all()

    def _listen(self, listener: wakeups.Listener) -> set[str]:
        return {run_id for text in listener.wait(LISTEN_SECONDS) for run_id in text.split(",")}

    def _round(self, runs: Sequence[LiveRun], now: float, told: set[str]) -> None:
        try:
            self._speak(runs, now, told)
        except Error as error:
            self._note_away(error)
            connections.close_all()
        except Exception:
            logger.exception("a heartbeat failed; the next one is tried in its turn")

    def _speak(self, runs: Sequence[LiveRun], now: float, told: set[str]) -> None:
        if not runs:
            return
        if self._is_due("beat", now, get_settings().heartbeat_seconds):
            self._stamp(runs)
        if told & {str(run.facts.id) for run in runs} or self._is_due("look", now, LOOK_SECONDS):
            self._hear(runs, look([run.facts.id for run in runs]))
        if self._is_due("write", now, WRITE_SECONDS):
            self._write(runs)

    def _is_due(self, what: str, now: float, seconds: float) -> bool:
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _stamp(self, runs: Sequence[LiveRun]) -> None:
        progress = {run.facts.id: run.progress_to_write() for run in runs}
        try:
            self._hear(runs, beat_heart(progress))
        except Error:
            self._due["beat"] = time.monotonic() + LOOK_SECONDS
            raise

    def _hear(self, runs: Sequence[LiveRun], pulses: dict[UUID, Pulse]) -> None:
        """Act on what the ledger says about each run."""
        now = self._heard_at = time.monotonic()
        self._away = False
        for run in runs:
            pulse = pulses.get(run.facts.id)
            if pulse is None or pulse.fence != run.facts.fence:
                run.ask_to_stop(Stop.LOST, now)
            elif pulse.stop_reason:
                run.ask_to_stop(stop_of(pulse.stop_reason), now)

    def _write(self, runs: Sequence[LiveRun]) -> None:
        changed = [run for run in runs if run.progress_changed]
        if changed:
            self._stamp(changed)
        for run in runs:
            write_lines(run)

    def _note_away(self, error: Error) -> None:
        if not self._away:
            logger.warning("the ledger cannot be reached, heartbeats wait: %s", error)
        self._away = True


def write_lines(run: LiveRun) -> None:
    """Write the log lines that the task has said since the last time."""
    lines = run.take_lines()
    if not lines:
        return
    try:
        write_log(run.facts.id, run.facts.fence, lines)
    except Error:
        run.give_back_lines(lines)
        raise
