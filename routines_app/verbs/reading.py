"""What those need to know who read the ledger's querysets themselves: its time, its ids, its large columns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from routines_app.core.keys import EPOCH, uuid7_int
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias

LARGE_FIELDS = ("args", "kwargs", "result", "error", "traceback")
"""What a run brought along and left, up to megabytes: to be deferred where it is not shown."""


def now() -> datetime:
    """The ledger's present time: the database's clock, aware, in UTC."""
    return clock.now()


def oldest_run_id(at: datetime) -> UUID:
    """The smallest id that a run created at this time can have: ids carry the time of creation."""
    return UUID(int=uuid7_int(max(0, int(at.timestamp() * 1000)), 0))


def runs_together(parts: Iterable[QuerySet[RoutineRun]]) -> Iterable[RoutineRun]:
    """The runs of several querysets in one statement. Each has its own order and limit, which an index can end at.

    They read the same columns (`only`). Those of one part come together, and in its order.
    """
    selects, values = [], []
    for place, part in enumerate(parts):
        sql, params = part.query.get_compiler(ledger_alias()).as_sql()
        selects.append(f"SELECT * FROM ({sql}) AS part_{place}")  # noqa: S608 # nosec B608
        values += params
    return RoutineRun.objects.using(ledger_alias()).raw(" UNION ALL ".join(selects), values) if selects else ()


def run_created_at(run_id: UUID) -> datetime:
    """When a run was created, to the millisecond. One whose id plain SQL has made up is taken for new."""
    try:
        return EPOCH + timedelta(milliseconds=run_id.int >> 80)
    except OverflowError:  # ids that carry no time may carry a number beyond the calendar
        return clock.now()
