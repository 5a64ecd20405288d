"""Due routines: reading and locking them, and writing their new states, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections

from routines_app.models import RoutineState
from routines_app.protocol.ledger.arrays import array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, load_times_fast, sql
from routines_app.protocol.ledger.locks import skipping_locked

_ROUTINE_FIELDS = (
    "name",
    "task",
    "queue",
    "trigger_kind",
    "cron",
    "interval_ms",
    "timezone",
    "start_at",
    "end_at",
    "jitter_ms",
    "status",
    "paused_until",
    "priority",
    "concurrency_policy",
    "pool_id",
    "catch_up_policy",
    "misfire_grace_ms",
    "catch_up_window",
    "catch_up_limit",
    "timeout_ms",
    "min_interval_ms",
    "max_interval_ms",
    "created_at",
)


class DueRow(NamedTuple):
    """A due routine and its state, as read under the lock."""

    routine_id: int
    last_slot: datetime | None
    next_slot: datetime | None
    next_run_at: datetime | None
    next_source: str
    hint_interval_ms: int | None
    hint_next_at: datetime | None
    hint_expires_at: datetime | None
    failure_count: int
    fingerprint: str
    open_skip: UUID | None
    release_policy: str
    release_until: datetime | None
    name: str
    task: str
    queue: str
    trigger_kind: str
    cron: str
    interval_ms: int | None
    timezone: str
    start_at: datetime | None
    end_at: datetime | None
    jitter_ms: int
    status: str
    paused_until: datetime | None
    priority: str
    concurrency_policy: str
    pool_id: int | None
    catch_up_policy: str
    misfire_grace_ms: int
    catch_up_window: int | None
    catch_up_limit: int | None
    timeout_ms: int
    min_interval_ms: int | None
    max_interval_ms: int | None
    created_at: datetime


_COLUMNS = [field if field not in _ROUTINE_FIELDS else f"routine__{field}" for field in DueRow._fields]
_SQL_COLUMNS = ", ".join(f"{'routine' if field in _ROUTINE_FIELDS else 'state'}.{field}" for field in DueRow._fields)


class NewState(NamedTuple):
    """A state as a claim leaves it; the order is that of `update_states.sql`."""

    routine_id: int
    last_slot: datetime | None
    next_slot: datetime | None
    next_run_at: datetime | None
    next_source: str
    hint_next_at: datetime | None
    fingerprint: str
    open_skip: UUID | None
    release_policy: str
    release_until: datetime | None


def take_due(now: datetime, limit: int) -> list[DueRow]:
    """Lock and read due routines that nobody else has locked. Inside a transaction.

    Two statements: one that locked and joined at once could pair a state that an edit has just changed with the
    routine as it was before. Edits hold the state's lock, so what is read behind it belongs together.
    """
    alias = ledger_alias()
    rows = _take_in_two_statements(alias, now, limit) if is_postgresql(alias) else _take_portably(alias, now, limit)
    return [DueRow._make(row) for row in rows]


def _take_in_two_statements(alias: str, now: datetime, limit: int) -> Iterable[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql("claim/lock_due"), [now, limit])
        locked = [routine_id for (routine_id,) in cursor.fetchall()]
        if not locked:
            return []
        load_times_fast(cursor)
        cursor.execute(sql("claim/read_due").format(columns=_SQL_COLUMNS), [array_literal(locked)])
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _take_portably(alias: str, now: datetime, limit: int) -> Iterable[tuple[Any, ...]]:
    states = RoutineState.objects.using(alias)
    due = skipping_locked(states.filter(next_run_at__lte=now).order_by("next_run_at", "routine_id"))
    locked = list(due.values_list("routine_id", flat=True)[:limit])
    if not locked:
        return []
    return states.filter(pk__in=locked).order_by("next_run_at", "routine_id").values_list(*_COLUMNS)


def write_states(states: Sequence[NewState]) -> None:
    """Write all of them in one statement."""
    if not states:
        return
    alias = ledger_alias()
    write = _write_in_one_statement if is_postgresql(alias) else _write_portably
    write(alias, states)


def _write_in_one_statement(alias: str, states: Sequence[NewState]) -> None:
    columns = [array_literal(column) for column in zip(*states, strict=True)]
    with connections[alias].cursor() as cursor:
        cursor.execute(sql("claim/update_states"), columns)


def _write_portably(alias: str, states: Sequence[NewState]) -> None:
    rows = [RoutineState(**state._asdict()) for state in states]
    RoutineState.objects.using(alias).bulk_update(rows, [*NewState._fields[1:]])


def next_due_at() -> datetime | None:
    """When the next routine is due; one look at the index."""
    return (
        RoutineState.objects.using(ledger_alias())
        .filter(next_run_at__isnull=False)
        .order_by("next_run_at")
        .values_list("next_run_at", flat=True)
        .first()
    )
