"""Due routines: reading and locking them, and writing their new states, a batch at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import DataError, connections
from django.db.models import Case, DateTimeField, Q, QuerySet, Value, When
from django.db.models.lookups import In

from routines_app.core.keys import EPOCH
from routines_app.core.words import HintKind
from routines_app.models import Pool, Routine, RoutineState, no_hint
from routines_app.protocol.ledger.arrays import AnyOf, array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, load_times_fast, sql
from routines_app.protocol.ledger.default_pool import DEFAULT_POOL_SQL, pool_or_default
from routines_app.protocol.ledger.locks import free_keys, skipping_locked
from routines_app.protocol.ledger.moments import LAST_MOMENT, readable
from routines_app.protocol.record.messages import BRIEF_SQL, as_text, brief

_ROUTINE_FIELDS = (
    "name",
    "task",
    "queue",
    "trigger_kind",
    "cron",
    "interval_ms",
    "once_at",
    "timezone",
    "start_at",
    "end_at",
    "jitter_ms",
    "status",
    "paused_until",
    "priority",
    "concurrency_policy",
    "shadow",
    "pool_id",
    "catch_up_policy",
    "misfire_grace_ms",
    "catch_up_window_ms",
    "catch_up_limit",
    "timeout_ms",
    "min_interval_ms",
    "max_interval_ms",
    "created_at",
    "args",
    "kwargs",
    "options",
)
_BRIEF = ("args", "kwargs")


class DueRow(NamedTuple):
    """A due routine and its state, as read under the lock."""

    routine_id: int
    last_slot: datetime | None
    next_slot: datetime | None
    slot_source: str
    next_run_at: datetime | None
    next_source: str
    grid_from: datetime | None
    clamps_from: datetime | None
    hint_interval_ms: int | None
    hint_interval_expires_at: datetime | None
    hint_next_at: datetime | None
    hint_next_expires_at: datetime | None
    hint_factor: float | None
    hint_factor_expires_at: datetime | None
    failure_count: int
    fingerprint: str
    release_policy: str
    release_until: datetime | None
    name: str
    task: str
    queue: str
    trigger_kind: str
    cron: str
    interval_ms: int | None
    once_at: datetime | None
    timezone: str
    start_at: datetime | None
    end_at: datetime | None
    jitter_ms: int
    status: str
    paused_until: datetime | None
    priority: str
    concurrency_policy: str
    shadow: bool
    pool_id: int | None
    """Its own, or the default pool."""
    catch_up_policy: str
    misfire_grace_ms: int
    catch_up_window_ms: int | None
    catch_up_limit: int | None
    timeout_ms: int | None
    min_interval_ms: int | None
    max_interval_ms: int | None
    created_at: datetime
    args: str
    """JSON, as it is stored, for the message; cut where it is long."""
    kwargs: str
    options: str | None


def _column(field: str) -> Any:
    path = f"routine__{field}" if field in _ROUTINE_FIELDS else field
    if field == "pool_id":
        return pool_or_default(path)
    if field in _BRIEF:
        return brief(path)
    return as_text(path) if field == "options" else path


def _sql_column(field: str) -> str:
    column = f"{'routine' if field in _ROUTINE_FIELDS else 'state'}.{field}"
    if field == "pool_id":
        return f"COALESCE({column}, {DEFAULT_POOL_SQL})"
    return BRIEF_SQL.format(column) if field in _BRIEF else column


_COLUMNS = [_column(field) for field in DueRow._fields]
_TIMES = [
    f"routine__{field}" if field in _ROUTINE_FIELDS else field
    for field in DueRow._fields
    if isinstance((Routine if field in _ROUTINE_FIELDS else RoutineState)._meta.get_field(field), DateTimeField)
]
_SQL_COLUMNS = ", ".join(_sql_column(field) for field in DueRow._fields)


class NewState(NamedTuple):
    """A state as a claim leaves it; the order is that of `update_states.sql`."""

    routine_id: int
    last_slot: datetime | None
    next_slot: datetime | None
    slot_source: str
    next_run_at: datetime | None
    next_source: str
    clamps_from: datetime | None
    fingerprint: str
    release_policy: str
    release_until: datetime | None


class Taken(NamedTuple):
    """Due routines that are locked."""

    rows: list[DueRow]
    held: list[int]
    """Those of which somebody holds the routine's or the pool's row, so that no run could refer to it."""
    outside: frozenset[int] = frozenset()
    """Of the rows those that would belong to the default pool, and somebody holds that: their runs get in later."""


def take_due(now: datetime, limit: int, *, without: Collection[int] = ()) -> Taken:
    """Lock and read due routines that nobody else has locked. Inside a transaction.

    Two statements: one that locked and joined at once could pair a state that an edit has just changed with the
    routine as it was before. Edits hold the state's lock, so what is read behind it belongs together.
    """
    alias = ledger_alias()
    if not is_postgresql(alias):
        return _free(*_take(alias, _due(alias, now).exclude(pk__in=without), limit))
    return _free(*_take_in_two_statements(alias, now, limit, without))


def take_these(now: datetime, routine_ids: Collection[int]) -> Taken:
    """The same of these routines alone, as many as are due."""
    alias = ledger_alias()
    return _free(*_take(alias, _due(alias, now).filter(pk__in=routine_ids), len(routine_ids)))


def still_due(now: datetime, routine_ids: Collection[int]) -> list[int]:
    """Which of these are due, whoever may have locked them."""
    due = _due(ledger_alias(), now).filter(pk__in=routine_ids)
    return list(due.values_list("routine_id", flat=True)) if routine_ids else []


def due_ids(now: datetime, limit: int, *, without: Collection[int] = ()) -> list[int]:
    """Which routines would be taken. Nothing is locked, and no value is read that could be unreadable."""
    due = _due(ledger_alias(), now).exclude(pk__in=without)
    return list(due.values_list("routine_id", flat=True)[:limit])


def still_unclaimed(now: datetime, limit: int, *, without: Collection[int] = ()) -> list[tuple[int, datetime | None]]:
    """The same, each with when it became due; but of those whose times can be read."""
    due = _due(ledger_alias(), now).exclude(pk__in=without).filter(readable("next_run_at"))
    return list(due.values_list("routine_id", "next_run_at")[:limit])


def look_at_due(
    now: datetime, *columns: str, also: Collection[int] = (), pools: Collection[int] = (), limit: int
) -> list[tuple[DueRow, tuple[Any, ...]]]:
    """What a claim would take now, and these routines also, with more columns of the state. Nothing is locked.

    If there is more than the limit, what is due in these pools comes before the rest. A row that cannot be read is left
    out: a claim parks its routine.
    """
    states = RoutineState.objects.using(ledger_alias()).filter(readable(*_TIMES, "last_success_at"))
    rows = states.filter(Q(next_run_at__lte=now) | Q(pk__in=also) if also else Q(next_run_at__lte=now))
    order = ["next_run_at", "routine_id"]
    if also or pools:  # in front, or they could fall behind the limit
        asked = [When(pk__in=also, then=Value(0)), When(In(pool_or_default("routine__pool_id"), pools), then=Value(1))]
        rows, order = rows.annotate(asked=Case(*asked, default=Value(2))), ["asked", *order]
    width = len(DueRow._fields)
    found = rows.order_by(*order).values_list(*_COLUMNS, *columns)[:limit]
    return [(DueRow._make(row[:width]), row[width:]) for row in found]


def _take_in_two_statements(
    alias: str, now: datetime, limit: int, without: Collection[int]
) -> tuple[list[int], Iterable[tuple[Any, ...]]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql("claim/lock_due"), [now, array_literal(list(without)), limit])
        locked = [routine_id for (routine_id,) in cursor.fetchall()]
        if not locked:
            return [], []
        load_times_fast(cursor)
        cursor.execute(sql("claim/read_due").format(columns=_SQL_COLUMNS), [array_literal(locked)])
        return locked, cursor.fetchall()


def _due(alias: str, now: datetime) -> QuerySet[RoutineState]:
    return RoutineState.objects.using(alias).filter(next_run_at__lte=now).order_by("next_run_at", "routine_id")


def _take(alias: str, due: QuerySet[RoutineState], limit: int) -> tuple[list[int], Iterable[tuple[Any, ...]]]:
    locked = list(skipping_locked(due).values_list("routine_id", flat=True)[:limit])
    free = free_keys(Routine, locked)
    if not free:
        return locked, []
    states = RoutineState.objects.using(alias).filter(pk__in=free)
    return locked, states.order_by("next_run_at", "routine_id").values_list(*_COLUMNS)


def _free(locked: list[int], read: Iterable[tuple[Any, ...]]) -> Taken:
    """Without the routines whose own pool no run could refer to.

    The default pool holds nobody up: it is everybody's, and on MariaDB a beat that lets runs into it holds its key.
    """
    rows = [DueRow._make(row) for row in read]
    pools = free_keys(Pool, {row.pool_id for row in rows if row.pool_id is not None})
    outside = _that_name_none([row.routine_id for row in rows if row.pool_id is not None and row.pool_id not in pools])
    rows = [row for row in rows if row.pool_id is None or row.pool_id in pools or row.routine_id in outside]
    if len(rows) == len(locked):
        return Taken(rows, [], outside)
    taken = {row.routine_id for row in rows}
    return Taken(rows, [routine_id for routine_id in locked if routine_id not in taken], outside)


def _that_name_none(routine_ids: Collection[int]) -> frozenset[int]:
    """Those of the routines that have no pool of their own."""
    unnamed = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), pool=None)
    return frozenset(unnamed.values_list("pk", flat=True) if routine_ids else ())


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


def drop_hints(kind: HintKind, routine_ids: Collection[int]) -> None:
    """Drop hints of one kind, which are used up or over. Few claims have any, so the statement that moves the states on
    knows nothing of them."""
    RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids)).update(**no_hint(kind))


def next_due_at(*, after: datetime | None = None, without: Collection[int] = ()) -> datetime | None:
    """When the next routine is due; one look at the index. `after`: whatever is due already left out."""
    planned = RoutineState.objects.using(ledger_alias()).filter(next_run_at__lt=LAST_MOMENT)
    if after is not None:
        planned = planned.filter(next_run_at__gt=after)
    if without:
        planned = planned.exclude(pk__in=without)
    try:
        return planned.order_by("next_run_at").values_list("next_run_at", flat=True).first()
    except (DataError, ValueError, TypeError):
        return EPOCH  # a moment that is none, before all others: the claim looks at it, and parks the routine
