"""Waiting rows whose time has come: which they are, and how one that cannot be done does not stop the others.

Locks are taken in the order routine state, pool, run: states only for exclusive routines, whose overlap is decided
here, and the key of the default pool only where a run belongs to no pool although there is one. Nothing goes past that
pool: such a run is taken in before it is judged, and left for the next look while somebody holds the pool.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import DataError, Error
from django.db.models import QuerySet

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.admission import LOOK_AGAIN
from routines_app.core.keys import EPOCH
from routines_app.core.words import RunStatus, is_exclusive
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.apart import each_apart
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import Trouble, is_outage, retrying_conflicts, trouble_of
from routines_app.protocol.ledger.default_pool import pool_or_default, take_in
from routines_app.protocol.ledger.locks import free_keys, lock_free_states, skipping_locked, update_free
from routines_app.protocol.ledger.moments import LAST_MOMENT
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.publish.judge import judge
from routines_app.protocol.publish.unreadable import take_out
from routines_app.protocol.publish.waiting_row import WAITING_COLUMNS, WaitingRow

logger = logging.getLogger(__name__)

_said = SaidOnce(logger)


def dispatch_waiting(now: datetime, limit: int | None = None) -> list[Message]:
    """Take waiting rows whose time has come; the messages of those that may go. Publish them afterwards."""
    limit = limit or get_settings().claim_batch
    try:
        return retrying_conflicts(
            lambda: _dispatch(_waiting(now).order_by("publish_after", "scheduled_for")[:limit], now)
        )
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        logger.info("waiting runs could not be looked at as a whole: %s", error)
        return _dispatch_apart(now, limit)


def _dispatch(some: QuerySet[RoutineRun], now: datetime, lock_ms: int | None = None) -> list[Message]:
    with bounded() if lock_ms is None else bounded(lock_ms=lock_ms):
        rows = _take(some, now)
        messages = judge(rows, now)
    for row in rows:
        _said.over(row.id)
    return messages


def _dispatch_apart(now: datetime, limit: int) -> list[Message]:
    """One of them is at fault: which it is, and the others go."""
    messages: list[Message] = []

    def dispatch(some: Sequence[UUID]) -> None:
        messages.extend(_dispatch(_waiting(now).filter(AnyOf("id", some)), now, QUICK_LOCK_MS))

    # By their ids alone: what cannot be read is not read here.
    ids = list(_waiting(now).order_by("publish_after").values_list("id", flat=True)[:limit])
    for run_id, error in each_apart(dispatch, ids).failed:
        if isinstance(error, Error) and trouble_of(error) is not Trouble.VALUE:
            _look_again(run_id, error, now)
        else:
            take_out(run_id, error, now)
    return messages


def _look_again(run_id: UUID, error: Error, now: datetime) -> None:
    """Somebody holds a row that deciding this one needs: a moment later, and behind the others."""
    run = RoutineRun.objects.using(ledger_alias()).filter(id=run_id)
    name = run.values_list("routine__name", flat=True).first()
    _said.warn(run_id, f"a waiting run of routine {name} cannot be decided now and is looked at again: {error}")
    with bounded(lock_ms=QUICK_LOCK_MS):
        update_free(run.filter(status=RunStatus.PENDING), publish_after=now + LOOK_AGAIN)


def _waiting(now: datetime) -> QuerySet[RoutineRun]:
    waiting = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at=None)
    return waiting.filter(publish_after__lte=now)


class _Candidate(NamedTuple):
    id: UUID
    routine_id: int
    policy: str
    pool_id: int | None
    pool: int | None
    """The same, or the default pool."""


def _take(some: QuerySet[RoutineRun], now: datetime) -> list[WaitingRow]:
    """Look without locks, lock the states of the exclusive ones, then lock the rows themselves and look again."""
    found = some.values_list("id", "routine_id", "routine__concurrency_policy", "pool_id", pool_or_default("pool_id"))
    candidates = [_Candidate._make(row) for row in found]
    if not candidates:
        return []
    exclusive = {row.routine_id for row in candidates if is_exclusive(row.policy)}
    locked = lock_free_states(exclusive)
    ids = _pooled([row for row in candidates if row.routine_id not in exclusive or row.routine_id in locked], now)
    rows = skipping_locked(_waiting(now).filter(AnyOf("id", ids)).order_by("id"), keys=False)
    taken = [
        (pool, WaitingRow._make(row)) for pool, *row in rows.values_list(pool_or_default("pool_id"), *WAITING_COLUMNS)
    ]
    return [row for pool, row in taken if row.pool_id == pool]  # or a pool became the default since: the next look


def _pooled(candidates: list[_Candidate], now: datetime) -> list[UUID]:
    """Those that are where they belong: runs without a pool are taken into the default pool, if there is one.

    While somebody holds that pool they are looked at a moment later: at every look they would come before the others,
    and a batch of them would hide all that there is.
    """
    outside = {row.id: row.pool for row in candidates if row.pool_id is None and row.pool is not None}
    if not outside:
        return [row.id for row in candidates]
    free = free_keys(Pool, set(outside.values()))
    for pool_id in free:  # of which there is one at most
        take_in(pool_id, RoutineRun.objects.using(ledger_alias()).filter(AnyOf("id", list(outside))))
    if free:
        return [row.id for row in candidates]
    # Only what still waits: another beat may have sent one since, and then this would be the look for its message.
    update_free(_waiting(now).filter(AnyOf("id", list(outside))), publish_after=now + LOOK_AGAIN)
    return [row.id for row in candidates if row.id not in outside]


def next_waiting_at() -> datetime | None:
    """When the next waiting row may be looked at."""
    waiting = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at=None)
    planned = waiting.filter(publish_after__lt=LAST_MOMENT).order_by("publish_after")
    try:
        return planned.values_list("publish_after", flat=True).first()
    except (DataError, ValueError, TypeError):
        return EPOCH  # a moment that is none, before all others: it is looked at, and taken out
