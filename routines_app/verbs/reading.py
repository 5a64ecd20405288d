"""What those need to know who read the ledger's querysets themselves: its time, its ids, its large columns."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from routines_app.core.keys import EPOCH, uuid7_int
from routines_app.protocol.ledger import clock

LARGE_FIELDS = ("args", "kwargs", "result", "error", "traceback")
"""What a run brought along and left, up to megabytes: to be deferred where it is not shown."""


def now() -> datetime:
    """The ledger's present time: the database's clock, aware, in UTC."""
    return clock.now()


def oldest_run_id(at: datetime) -> UUID:
    """The smallest id that a run created at this time can have: ids carry the time of creation."""
    return UUID(int=uuid7_int(max(0, int(at.timestamp() * 1000)), 0))


def run_created_at(run_id: UUID) -> datetime:
    """When a run was created, to the millisecond. One whose id plain SQL has made up is taken for new."""
    try:
        return EPOCH + timedelta(milliseconds=run_id.int >> 80)
    except OverflowError:  # ids that carry no time may carry a number beyond the calendar
        return clock.now()
