"""The ledger's time: the database's clock, so that beats, workers and web processes on different machines agree.

It is read every REFRESH_SECONDS. In between a steady clock carries it on (`core/carried_time.py`): one that counts the
time since the machine was started, suspended or not, and that nobody can set. So a stepped wall clock reaches nothing.

The database's own clock may jump: somebody has set it, another server has taken over, or our machine was suspended and
its steady clock does not know. Then it is read again at once, believed if it says the same, and logged. A wall clock
that leaves the steady one is a sign of that, or all that has happened: the database is asked, and its answer counts.

SQLite has no server: its clock is the wall clock of the one machine that all its processes share. That they agree
counts most, so they believe a step of it at once and together, as they would one of a database's clock.

While the database has never answered this process the wall clock stands in for it, and each call asks again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, connections
from django.db.utils import InterfaceError

from routines_app.core.carried_time import JUMP_SECONDS, Carried, Jump, Reading, confirms, follow
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.sign import steady_seconds as steady_seconds

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 30.0
AGAIN_SECONDS = 1.0  # a wall clock that is stepped all the time must not make each call ask the database
SLOW_SECONDS = 0.02  # an answer that may be wrong by more than this says little about the time
WARN_ABOVE = timedelta(seconds=1)

_NOW = {
    "postgresql": "SELECT clock_timestamp()",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
}


def ask_database() -> datetime | None:
    """What time it is by the ledger's database; None where nothing may be asked: inside an aborted transaction."""
    connection = connections[ledger_alias()]
    statement = _NOW.get(connection.vendor)
    if statement is None:
        return datetime.fromtimestamp(time.time(), UTC)
    if connection.needs_rollback:
        return None
    with connection.cursor() as cursor:
        cursor.execute(statement)
        theirs: datetime = cursor.fetchone()[0]
    return theirs if theirs.tzinfo is not None else theirs.replace(tzinfo=UTC)


class Clock:
    """Database time, carried on."""

    def __init__(
        self,
        ask: Callable[[], datetime | None] = ask_database,
        steady: Callable[[], float] = steady_seconds,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`ask` reads the database's clock, `steady` one that nobody steps, `wall` this machine's time of day."""
        self._ask, self._steady, self._wall = ask, steady, wall
        self._known: Carried | None = None
        self._looked_at = 0.0
        self._wall_ahead = 0.0
        self._warned = False
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The ledger's present. While the database has never been reached, this machine's."""
        steady = self._steady()
        if self._is_time_to_look(steady):
            self._look()
            steady = self._steady()
        return self._wall_time() if self._known is None else self._known.at(steady)

    def wall_ahead(self) -> float:
        """By how many seconds this machine's time of day is ahead of the ledger's."""
        now = self.now()  # first: it may have to connect, and that takes its time
        return (self._wall_time() - now).total_seconds()

    def forget_lock(self) -> None:
        """In a forked child: the thread that held the lock, if there was one, does not exist there."""
        self._lock = threading.Lock()

    def _is_time_to_look(self, steady: float) -> bool:
        age = steady - self._looked_at
        if self._known is None or age > REFRESH_SECONDS:
            return True
        return age > AGAIN_SECONDS and abs(self._wall() - steady - self._wall_ahead) > JUMP_SECONDS

    def _look(self) -> None:
        """Read the database's clock, unless another thread does: what is known is good enough for this one."""
        if not self._lock.acquire(blocking=self._known is None):
            return
        try:
            if self._is_time_to_look(self._steady()):  # nobody has, while we waited
                self._known = self._look_from(self._known)
        except (DatabaseError, InterfaceError):
            pass  # it is away: what was known before is still the best there is
        finally:
            self._lock.release()

    def _look_from(self, known: Carried | None) -> Carried | None:
        self._looked_at = self._steady()
        self._wall_ahead = self._wall() - self._looked_at
        reading = self._read()
        if reading is None:
            return known
        followed = Carried(reading) if known is None else follow(known, reading)
        if isinstance(followed, Jump):
            assert known is not None  # nosec B101 # there is nothing to jump from
            followed = self._look_again(known, reading, followed)
        self._warn_when_far_off(self._wall_time() - followed.at(self._steady()))
        return followed

    def _look_again(self, known: Carried, first: Reading, jump: Jump) -> Carried:
        second = self._read()
        if second is None:
            return known
        if confirms(first, second):
            logger.warning("the database's clock has jumped by %s; routines follow it", timedelta(seconds=jump.seconds))
            return Carried(second)
        followed = follow(known, second)
        return known if isinstance(followed, Jump) else followed

    def _read(self) -> Reading | None:
        """One reading; the better of two if the first took long, as one does that has to connect."""
        first = self._read_once()
        if first is None or first.within <= SLOW_SECONDS:
            return first
        second = self._read_once()
        return first if second is None else min(first, second, key=lambda reading: reading.within)

    def _read_once(self) -> Reading | None:
        before = self._steady()
        theirs = self._ask()
        wall, after = self._wall_time(), self._steady()
        if theirs is None:
            return None
        within = (after - before) / 2
        theirs += timedelta(seconds=within)
        # Where both are one clock, or as good as that, ours tells its time to the microsecond.
        agree = abs((wall - theirs).total_seconds()) <= within
        return Reading(wall if agree else theirs, after, within)

    def _wall_time(self) -> datetime:
        return datetime.fromtimestamp(self._wall(), UTC)

    def _warn_when_far_off(self, off: timedelta) -> None:
        far = abs(off) > WARN_ABOVE
        if far and not self._warned:
            logger.warning("this machine's clock is %s off the database's; routines use the database's", off)
        self._warned = far


_clock = Clock()
os.register_at_fork(after_in_child=_clock.forget_lock)


def now() -> datetime:
    """The ledger's present time, aware, in UTC."""
    return _clock.now()


def wall_ahead_seconds() -> float:
    """By how many seconds this machine's time of day is ahead of the ledger's."""
    return _clock.wall_ahead()
