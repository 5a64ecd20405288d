"""The watchdog: one thread per worker process (a greenlet under gevent) that keeps time for the running bodies.

It looks at nothing but memory, at least once a second, so neither a database nor a Redis that hangs can hold it up;
what has to be asked outside is asked by two more threads that the watchdog starts when a run lasts: the heart asks the
database, the renewal asks Redis, and neither waits for the other. In a child of the prefork pool the parent does both
(`pacemaker.py`), and the child's own threads only take over when the parent is not heard any more.

A body that is out of time gets a `SoftTimeLimitExceeded` that it may use to clean up, then a grace, then the end: a
child of the prefork pool records the end and leaves, and the pool replaces it. In threads, solo and gevent nobody can
end a body: its run stays RUNNING (`overdue`) until the body returns, or until a person abandons it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from uuid import UUID

from django.db import Error, connections

from routines_app.execution.companion import OLD_ENOUGH_SECONDS, ROUND_SECONDS, Companion
from routines_app.execution.heart import Heart
from routines_app.execution.live import LiveRun
from routines_app.execution.outcomes import stopped
from routines_app.execution.place import Place, own_place
from routines_app.execution.renewal import Renewal
from routines_app.execution.stops import Stop
from routines_app.protocol.end.finish import finish, mark_overdue
from routines_app.protocol.ledger.clock import steady_seconds

logger = logging.getLogger(__name__)

IDLE_SECONDS = 30.0  # without runs for this long the thread ends; the next run starts a new one
SILENCE_SECONDS = 20.0  # neither database nor Redis: after this an exclusive body must not go on
# A round that comes so late: nobody here could listen; a body held the interpreter, or the machine was suspended.
HELD_UP_SECONDS = 5.0
RECORD_SECONDS = 5.0  # how long a process that is about to end itself tries to record why
AGAIN_SECONDS = 5.0  # with the ledger away
EXIT_CODE = 70


class Watchdog:
    """Watches the runs of one process."""

    def __init__(self) -> None:
        self._runs: dict[UUID, LiveRun] = {}
        self._lock = threading.Lock()
        self._companion = Companion("routines-watchdog", self._watch)
        self._heart = Heart(self.runs, alone=self._must_stamp)
        self._renewal = Renewal(self.runs, alone=self._must_renew)
        self._place: Place | None = None
        self._looked_at = self._present_at = 0.0  # the second counts the time of a suspended machine too
        self._awake_since = 0.0

    def watch(self, run: LiveRun) -> None:
        self._place = self._place or own_place()
        if self._place is not None:
            run.take_place(self._place)
        with self._lock:
            self._runs[run.facts.id] = run
        self._companion.ensure()

    def release(self, run: LiveRun) -> None:
        run.end()
        with self._lock:
            self._runs.pop(run.facts.id, None)

    def runs(self) -> list[LiveRun]:
        with self._lock:
            return list(self._runs.values())

    def find(self, run_id: str) -> LiveRun | None:
        return next((run for run in self.runs() if str(run.facts.id) == run_id), None)

    def interrupt_all(self) -> None:
        """The worker shuts down: what runs is interrupted, and new rows take its place."""
        for run in self.runs():
            run.ask_to_stop(Stop.INTERRUPTED, time.monotonic())

    def _watch(self) -> None:
        busy_at = time.monotonic()
        while True:
            now = time.monotonic()
            try:
                self.look(now)
            except Exception:
                logger.exception("the watchdog stumbled and goes on")
            busy_at = now if self._runs else busy_at
            if now - busy_at > IDLE_SECONDS and self._companion.end_unless(self.runs):
                return
            time.sleep(ROUND_SECONDS)

    def look(self, now: float) -> None:
        """One round over the running bodies."""
        moment = steady_seconds()
        if max(now - self._looked_at, moment - self._present_at) > HELD_UP_SECONDS:
            self._awake_since = now
        self._looked_at, self._present_at = now, moment
        runs = self.runs()
        for run in runs:  # first: a thread that cannot be started must not cost a body its time-out
            self._look_at(run, now)
        lasting = [run for run in runs if now - run.began >= OLD_ENOUGH_SECONDS]
        if lasting and (self._must_stamp() or any(run.has_news for run in lasting)):
            self._heart.ensure_beating(now, self._unheard())
        if any(run.exclusive for run in lasting) and self._must_renew():
            self._renewal.ensure_renewing(now, self._unrenewed())

    def _unheard(self) -> float | None:
        """How long the database has not answered the parent; None without a parent that could ask."""
        return None if self._place is None else self._place.unheard_seconds()

    def _unrenewed(self) -> float | None:
        return None if self._place is None else self._place.unrenewed_seconds()

    def _must_stamp(self) -> bool:
        return self._place is None or not self._place.is_stamped_for

    def _must_renew(self) -> bool:
        return self._place is None or not self._place.is_renewed_for

    def silent_seconds(self, now: float) -> float:
        """How long neither the database nor Redis has answered: one of them is enough for a body to go on.

        What the parent has heard counts as well. While a body held the interpreter nobody here could hear anything.
        """
        database = _silence(self._heart, self._unheard(), now)
        redis = _silence(self._renewal, self._unrenewed(), now)
        return min(database, redis, now - self._awake_since)

    def _look_at(self, run: LiveRun, now: float) -> None:
        asked = run.place and run.place.asked_to_stop(run.id)
        if run.stop is None and now >= run.deadline:
            run.ask_to_stop(Stop.TIMEOUT, now)
        elif run.stop is None and asked:
            run.ask_to_stop(asked, now)
        elif run.stop is None and run.exclusive and self._is_cut_off(run, now):
            logger.error("run %s is stopped: neither the database nor Redis can be reached", run.facts.id)
            run.ask_to_stop(Stop.LOST, now)
        elif run.is_over_grace(now) and not run.overdue:
            self._end(run)

    def _is_cut_off(self, run: LiveRun, now: float) -> bool:
        """Its own start was an answer of both."""
        return min(self.silent_seconds(now), now - run.began) > SILENCE_SECONDS

    def _end(self, run: LiveRun) -> None:
        """The grace is over and the body still runs."""
        if run.interrupter is not None and run.interrupter.can_end_process:
            self._end_process(run)
            return
        run.overdue = True
        logger.error(
            "run %s of %s does not stop (%s) and cannot be ended from outside in this kind of pool",
            run.facts.id,
            run.facts.routine_name,
            run.stop,
        )
        _apart(lambda: _mark_overdue(run))

    def _end_process(self, run: LiveRun) -> None:
        if run.place is not None:
            # Its parent need not kill, unless the body takes the interpreter from us once more.
            run.place.ends_itself(run.id, by=time.monotonic() + RECORD_SECONDS)
        # Not an error by itself: a failure is reported by the parent, and a cancellation is none.
        logger.warning(
            "run %s of %s does not stop (%s): its process ends", run.facts.id, run.facts.routine_name, run.stop
        )
        try:
            _apart(lambda: _record_end(run)).join(RECORD_SECONDS)
        finally:
            with run.lock:
                if run.in_body:
                    os._exit(EXIT_CODE)


def _silence(ours: Heart | Renewal, parents: float | None, now: float) -> float:
    here = ours.silent_seconds(now)
    if parents is None:
        return here
    return min(here, parents) if ours.runs else parents


def _record_end(run: LiveRun) -> None:
    outcome = stopped(run)
    if outcome is not None:
        finish(run.facts, outcome, give_back=run.give_lease_back)


def _mark_overdue(run: LiveRun) -> None:
    """As soon as the ledger is there: nothing else says that this body needs a person."""
    while not run.has_ended():
        try:
            mark_overdue(run.facts)
        except Error as error:
            logger.warning("run %s could not be marked as overdue yet: %s", run.id, error)
            connections.close_all()
            time.sleep(AGAIN_SECONDS)
        else:
            return


def _apart(act: Callable[[], object]) -> threading.Thread:
    """Talk to the database in a thread of its own: the watchdog itself must not wait for anybody."""

    def run() -> None:
        try:
            act()
        except Exception:
            logger.exception("the end of a run could not be recorded; a beat will find it orphaned")
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name="routines-record", daemon=True)
    thread.start()
    return thread


_watchdog = Watchdog()


def watchdog() -> Watchdog:
    """This process's watchdog. A forked child starts with a new one."""
    return _watchdog


def _begin_anew() -> None:
    global _watchdog
    _watchdog = Watchdog()


os.register_at_fork(after_in_child=_begin_anew)
