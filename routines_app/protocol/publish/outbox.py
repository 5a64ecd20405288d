"""The outbox: waiting rows go to the broker when nothing holds them any more.

The run rows are the outbox. A PENDING row without `dispatched_at` waits; `publish_after` says when any beat may look at
it, and NULL that an event will set it (room in a pool, the end of a pause). Whoever takes rows moves their
`publish_after` on by PUBLISH_RETRY_SECONDS, commits, publishes, and stamps them. A crash anywhere in between leaves
rows that the next look finds again; a message that goes out twice does nothing the second time.

Locks are taken in the order routine state, run: states only for exclusive routines, whose overlap is decided here.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F

from routines_app.conf import get_settings
from routines_app.coordination.broker import BrokerAway, broker
from routines_app.coordination.envelope import Message
from routines_app.core.words import Reason, RunStatus, is_exclusive
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf, array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, on_commit, sql
from routines_app.protocol.ledger.locks import lock_free_states, skipping_locked
from routines_app.protocol.ledger.timeouts import limit_waits
from routines_app.protocol.publish.eager import is_eager, run_inline
from routines_app.protocol.publish.judge import WAITING_COLUMNS, WaitingRow, judge
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.record.messages import messages_of

logger = logging.getLogger(__name__)

FIRST_LOOK = timedelta(seconds=45)  # at a published run that has not started: its message may be lost
SET_ASIDE = timedelta(minutes=1)  # how long a run whose queue does not exist is left alone before the next try


def dispatch_waiting(now: datetime, limit: int | None = None) -> list[Message]:
    """Take waiting rows whose time has come; the messages of those that may go. Publish them afterwards."""
    alias = ledger_alias()
    with transaction.atomic(using=alias):
        limit_waits(alias)
        rows = _take_waiting(now, limit or get_settings().claim_batch)
        return judge(rows, now)


def send(messages: Sequence[Message]) -> bool:
    """Publish and stamp. False when the broker is away: the rows stay in the outbox."""
    if not messages:
        return True
    if is_eager():
        run_inline([message.run_id for message in messages])
        return True
    try:
        unroutable = {message.run_id for message in broker().publish(messages)}
    except BrokerAway:
        return False
    stamp([message.run_id for message in messages if message.run_id not in unroutable], clock.now())
    _set_aside(unroutable, clock.now())
    return True


def connect() -> bool:
    """Connect to the broker before there is something to send. False when it is away."""
    try:
        if not is_eager():
            broker().connect()
    except BrokerAway:
        return False
    return True


def _set_aside(run_ids: Collection[str], now: datetime) -> None:
    """Runs whose queue cannot be published to wait with that reason, and do not hold the others up."""
    if run_ids:
        runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.PENDING)
        runs.update(admitted_at=None, publish_after=now + SET_ASIDE, reason=Reason.PUBLISH_FAILED)


def stamp(run_ids: Collection[str], now: datetime) -> int:
    """Note that these are in the broker. A worker may already have started one, which changes nothing here.

    One that a worker has already handed back waits again: its message is used up, so it is not stamped.
    """
    alias = ledger_alias()
    stamped = _stamp_in_one_statement if is_postgresql(alias) else _stamp_portably
    return stamped(alias, run_ids, now)


def _stamp_in_one_statement(alias: str, run_ids: Collection[str], now: datetime) -> int:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql("publish/stamp_runs"), [now, now + FIRST_LOOK, array_literal(list(run_ids))])
        return int(cursor.rowcount)


def _stamp_portably(alias: str, run_ids: Collection[str], now: datetime) -> int:
    return (
        RoutineRun.objects.using(alias)
        .filter(id__in=run_ids, dispatched_at=None, admitted_at__isnull=False)
        .update(dispatched_at=now, publish_count=F("publish_count") + 1, publish_after=now + FIRST_LOOK)
    )


def after_commit(run: RoutineRun) -> None:
    """Send a new run as soon as the transaction commits. What cannot be sent now is left to a beat."""
    on_commit(lambda: _send_now(run))


def _send_now(run: RoutineRun) -> None:
    try:
        # In a pool it may have to wait, and others may have to go before it.
        send(_admitted(run) if run.pool_id is None else admit_pools(clock.now(), only=[run.pk]))
    except Exception:
        # The request that asked for the run has committed it: a beat finds it in the outbox. Whatever the database,
        # the broker or a project's router raised here, the caller of run_now can do nothing about it.
        logger.exception("sending runs after the commit failed; a beat will send them")


def _admitted(run: RoutineRun) -> list[Message]:
    """Its message, unless the caller's transaction has cancelled it since."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(id=run.pk, status=RunStatus.PENDING, dispatched_at=None)
    return messages_of(rows.filter(admitted_at__isnull=False))


class _Candidate(NamedTuple):
    id: UUID
    routine_id: int
    policy: str


def _take_waiting(now: datetime, limit: int) -> list[WaitingRow]:
    """Look without locks, lock the states of the exclusive ones, then lock the rows themselves and look again."""
    alias = ledger_alias()
    waiting = RoutineRun.objects.using(alias).filter(
        status=RunStatus.PENDING, dispatched_at=None, publish_after__lte=now
    )
    found = waiting.order_by("publish_after", "scheduled_for").values_list(
        "id", "routine_id", "routine__concurrency_policy"
    )[:limit]
    candidates = [_Candidate._make(row) for row in found]
    if not candidates:
        return []
    exclusive = {row.routine_id for row in candidates if is_exclusive(row.policy)}
    locked = lock_free_states(exclusive)
    ids = [row.id for row in candidates if row.routine_id not in exclusive or row.routine_id in locked]
    rows = skipping_locked(waiting.filter(AnyOf("id", ids)).order_by("id"))
    return [WaitingRow._make(row) for row in rows.values_list(*WAITING_COLUMNS)]


def next_waiting_at() -> datetime | None:
    """When the next waiting row may be looked at."""
    return (
        RoutineRun.objects.using(ledger_alias())
        .filter(status=RunStatus.PENDING, dispatched_at=None, publish_after__isnull=False)
        .order_by("publish_after")
        .values_list("publish_after", flat=True)
        .first()
    )
