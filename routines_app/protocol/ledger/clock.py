"""The ledger's time: the database's clock, so that beats on different machines agree.

The difference to this machine's clock is measured now and then; in between, reading the time costs nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, connections
from django.db.utils import InterfaceError

from routines_app.protocol.ledger.database import ledger_alias

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 30.0
WARN_ABOVE = timedelta(seconds=1)

_NOW = {
    "postgresql": "SELECT clock_timestamp()",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
    "oracle": "SELECT SYSTIMESTAMP FROM dual",
}


class Clock:
    """Database time with an offset that is measured again every REFRESH_SECONDS."""

    def __init__(self) -> None:
        self._offset = timedelta()
        self._measured_at: float | None = None
        self._warned = False
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The ledger's present; with the database away, this machine's clock plus the last known offset."""
        if self._measured_at is None or time.monotonic() - self._measured_at > REFRESH_SECONDS:
            self._refresh()
        return datetime.now(UTC) + self._offset

    def forget_lock(self) -> None:
        """In a forked child: the thread that held the lock, if there was one, does not exist there."""
        self._lock = threading.Lock()

    def _refresh(self) -> None:
        with self._lock:
            self._measured_at = time.monotonic()
            try:
                self._offset = _measure(self._offset)
            except (DatabaseError, InterfaceError):
                return
        self._warn_when_far_off()

    def _warn_when_far_off(self) -> None:
        far = abs(self._offset) > WARN_ABOVE
        if far and not self._warned:
            logger.warning("this machine's clock is %s off the database's; routines use the database's", self._offset)
        self._warned = far


def _measure(known: timedelta) -> timedelta:
    connection = connections[ledger_alias()]
    statement = _NOW.get(connection.vendor)
    # SQLite has no server and so no other clock. Inside an aborted transaction nothing may be asked: what was known
    # before is still the best there is.
    if statement is None or connection.needs_rollback:
        return known
    before = datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute(statement)
        (theirs,) = cursor.fetchone()
    after = datetime.now(UTC)
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    offset: timedelta = theirs - (before + (after - before) / 2)
    # A difference within the round trip is noise: with one clock on one machine the offset stays zero.
    return timedelta() if abs(offset) <= (after - before) else offset


_clock = Clock()
os.register_at_fork(after_in_child=_clock.forget_lock)


def now() -> datetime:
    """The ledger's present time, aware, in UTC."""
    return _clock.now()
