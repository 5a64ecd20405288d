"""New rows of the ledger, many at once.

The unique key makes a second row for the same slot and attempt impossible: an insert that meets one is ignored,
and the caller is told which rows are really new.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connections

from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql


class NewRun(NamedTuple):
    """The columns that a new scheduled row sets; the order is that of `insert_runs.sql`."""

    id: UUID
    routine_id: int
    status: str
    reason: str
    trigger: str
    source: str
    task: str
    queue: str
    timeout_ms: int
    pool_id: int | None
    scheduled_for: datetime
    next_planned_for: datetime | None
    eligible_at: datetime
    admitted_at: datetime | None
    publish_after: datetime | None
    completed_at: datetime | None
    idempotency_key: str
    scheduled_until: datetime | None
    occurrences: int

    @property
    def is_pending(self) -> bool:
        return self.status == RunStatus.PENDING

    @property
    def waits_for_room(self) -> bool:
        """It queues for its pool, and nothing else holds it."""
        return self.reason == Reason.CEILING and self.is_pending

    def ended(self, status: RunStatus, reason: Reason, now: datetime) -> NewRun:
        """The same row, written as ended: it never goes to the broker."""
        return self._replace(
            status=status.value,
            reason=reason.value,
            completed_at=now,
            admitted_at=None,
            publish_after=None,
        )


def insert_runs(rows: Sequence[NewRun]) -> set[UUID]:
    """Insert the rows in one statement; the ids of those that were new."""
    if not rows:
        return set()
    alias = ledger_alias()
    if not is_postgresql(alias):
        return _insert_portably(alias, rows)
    columns = [array_literal(column) for column in zip(*rows, strict=True)]
    with connections[alias].cursor() as cursor:
        cursor.execute(sql("claim/insert_runs"), columns)
        if cursor.rowcount == len(rows):  # all of them were new, as almost always: no need to read which
            return {row.id for row in rows}
        return {run_id for (run_id,) in cursor.fetchall()}


def _insert_portably(alias: str, rows: Sequence[NewRun]) -> set[UUID]:
    runs = RoutineRun.objects.using(alias)
    runs.bulk_create([RoutineRun(**row._asdict()) for row in rows], ignore_conflicts=True)
    # An ignored conflict is silent here, so ask which of the ids are there.
    return set(runs.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
