"""New rows of the ledger that a claim writes, many at once.

The unique key makes a second row for the same slot and attempt impossible: an insert that meets one is ignored,
and the caller is told which rows are really new.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connections

from routines_app.coordination.envelope import Message
from routines_app.core.admission import Standing
from routines_app.core.catch_up import Fire
from routines_app.core.jitter import jitter_ms
from routines_app.core.keys import finer_slot_key, slot_key
from routines_app.core.owed import Skipped
from routines_app.core.waits import first_wait
from routines_app.core.words import BASELINES, HINTED, Reason, RunStatus, RunTrigger
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.claim.due import DueRow
from routines_app.protocol.ledger.arrays import array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql
from routines_app.protocol.plan.planning import baseline_source, slot_source_of
from routines_app.protocol.record.messages import message_of
from routines_app.protocol.record.slot_keys import taken_slots


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
    timeout_ms: int | None
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
    blocked_by: UUID | None = None
    waits: str | None = None

    @property
    def is_pending(self) -> bool:
        return self.status == RunStatus.PENDING

    @property
    def waits_for_room(self) -> bool:
        """It queues for its pool, and nothing else holds it."""
        return self.reason == Reason.CEILING and self.is_pending

    def standing(self, where: Standing, now: datetime) -> NewRun:
        """The same row, as admission decided about it."""
        return self._replace(
            admitted_at=where.admitted_at,
            publish_after=where.publish_after,
            reason=where.reason.value,
            waits=first_wait(where.reason, now),
        )

    def outside(self, now: datetime) -> NewRun:
        """The same row without its pool, to which no row can refer now: a look at the outbox takes it in.

        What waits for nothing but room there is looked at at once. Should the pool be gone by then, it just goes.
        """
        if not self.waits_for_room:
            return self._replace(pool_id=None)
        return self._replace(pool_id=None, publish_after=now, reason=Reason.NONE.value, waits=None)

    def ended(self, status: RunStatus, reason: Reason, now: datetime, *, by: UUID | None = None) -> NewRun:
        """The same row, written as ended: it never goes to the broker. `by`: the run that is in its way."""
        return self._replace(
            status=status.value,
            reason=reason.value,
            completed_at=now,
            admitted_at=None,
            publish_after=None,
            blocked_by=by,
            waits=None,
        )


def new_run(row: DueRow, fire: Fire) -> NewRun:
    """The PENDING row of a slot; admission says where it stands."""
    eligible_at = fire.slot
    if row.jitter_ms:
        eligible_at += timedelta(milliseconds=jitter_ms(str(row.routine_id), fire.slot, row.jitter_ms))
    source = _source_of(row, fire.slot)
    return NewRun(
        id=new_run_id(),
        routine_id=row.routine_id,
        status=RunStatus.PENDING.value,
        reason="",
        trigger=_trigger_of(source, fire),
        source=source,
        task=row.task,
        queue=row.queue,
        timeout_ms=row.timeout_ms,
        pool_id=row.pool_id,
        scheduled_for=fire.slot,
        next_planned_for=None,
        eligible_at=eligible_at,
        admitted_at=None,
        publish_after=None,
        completed_at=None,
        idempotency_key=slot_key(row.routine_id, fire.slot, 1),
        scheduled_until=None,
        occurrences=1,
    )


def skipped_run(row: DueRow, skip: Skipped, now: datetime) -> NewRun:
    """The SKIPPED row that stands for one or many slots."""
    span = skip.span
    run = new_run(row, Fire(slot=span.first, missed=False))
    reason = Reason.PAUSED if row.release_until is not None and skip.reason == Reason.MISFIRE else skip.reason
    until = span.last if span.count > 1 else None
    # Of slots that were passed over: what has gone past them.
    source = slot_source_of(row, row).value if skip.reason == Reason.SUPERSEDED else run.source
    return run.ended(RunStatus.SKIPPED, reason, now)._replace(
        scheduled_until=until, occurrences=span.count, eligible_at=span.first, source=source
    )


def _source_of(row: DueRow, slot: datetime) -> str:
    """Why that slot: a hint or a clamp chose the one that was planned, and none of those around it."""
    source = slot_source_of(row, row)
    found = source if slot == row.next_slot or source in BASELINES else baseline_source(row)
    return found.value


def _trigger_of(source: str, fire: Fire) -> str:
    if fire.missed:
        return RunTrigger.CATCH_UP.value
    return RunTrigger.HINT.value if source in HINTED else RunTrigger.SCHEDULE.value


def insert_runs(rows: Sequence[NewRun]) -> set[UUID]:
    """Insert the rows in one statement; the ids of those that were new."""
    if not rows:
        return set()
    alias = ledger_alias()
    insert = _insert_in_one_statement if is_postgresql(alias) else _insert_portably
    new = insert(alias, rows)
    if len(new) < len(rows) and (beside := _beside_another([row for row in rows if row.id not in new])):
        new |= insert(alias, beside)
    return new


def _beside_another(refused: Sequence[NewRun]) -> list[NewRun]:
    """Those whose key belongs to another slot of the same millisecond; the others have their row already."""
    taken = taken_slots(row.idempotency_key for row in refused)
    return [
        row._replace(idempotency_key=finer_slot_key(row.routine_id, row.scheduled_for, 1))
        for row in refused
        if taken.get(row.idempotency_key, row.scheduled_for) != row.scheduled_for
    ]


def _insert_in_one_statement(alias: str, rows: Sequence[NewRun]) -> set[UUID]:
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


def message(row: DueRow, run: NewRun) -> Message:
    """What rings the run in; its work is its routine's, as it was read for this claim."""
    return message_of(
        run.id,
        row.name,
        row.task,
        row.queue,
        row.priority,
        row.timeout_ms,
        row.concurrency_policy,
        row.routine_id,
        row.args,
        row.kwargs,
        row.options,
    )
