"""The outbox: waiting rows go to the broker when nothing holds them any more.

The run rows are the outbox. A PENDING row without `dispatched_at` waits; `publish_after` says when any beat may look at
it, and NULL that an event will set it (room in a pool, the end of a pause). Whoever takes rows moves their
`publish_after` on by PUBLISH_RETRY_SECONDS, commits, publishes, and stamps them. A crash anywhere in between leaves
rows that the next look finds again; a message that goes out twice does nothing the second time.

Which rows are due for a look, and which of them may go, is in `waiting.py` and `judge.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error
from django.db.models import F

from routines_app.conf import get_settings
from routines_app.coordination.broker import BrokerAway, Refused, broker
from routines_app.coordination.envelope import Message
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, on_commit, sql
from routines_app.protocol.ledger.database_errors import Trouble, retrying_conflicts, trouble_of
from routines_app.protocol.ledger.locks import update_free, update_in_order
from routines_app.protocol.ledger.timeouts import bounded, run_bounded
from routines_app.protocol.publish.eager import is_eager, run_inline
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.record.messages import messages_of, with_arguments
from routines_app.protocol.record.texts import clean, cut
from routines_app.protocol.record.waits import because, unsent

logger = logging.getLogger(__name__)

FIRST_LOOK = timedelta(seconds=45)  # at a published run that has not started: its message may be lost
SET_ASIDE = timedelta(minutes=1)  # how long a run that has no way to go is left alone before the next try


def send(messages: Sequence[Message], *, published: Callable[[int], None] | None = None) -> BrokerAway | None:
    """Publish and stamp; `published` is told how many.

    Returns what kept the broker from taking them, if something did: then they stay in the outbox.
    """
    if not messages:
        return None
    if is_eager():
        run_inline([message.run_id for message in messages])
        return None
    try:
        refused = publish(messages)
    except BrokerAway as away:
        note_unsent(messages)
        return away
    if published is not None:
        published(len(messages) - len(refused))
    stuck = {each.message.run_id for each in refused}
    stamp([message.run_id for message in messages if message.run_id not in stuck], clock.now())
    _set_aside(refused, clock.now())
    return None


def note_unsent(messages: Sequence[Message]) -> None:
    """The broker is away: the rows say so, for whoever asks later why they were sent late.

    Of those that a worker has started all the same, or somebody holds, nothing is said. Nor if the database cannot:
    that the broker is away must be heard all the same, or the next batch would wait for it again.
    """
    runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=[message.run_id for message in messages])
    try:
        with bounded():
            update_free(runs.filter(status=RunStatus.PENDING, dispatched_at=None), **unsent(clock.now()))
    except Error as error:
        logger.warning("%s runs do not say that the broker was away: %s", len(messages), error)


def publish(messages: Sequence[Message]) -> list[Refused]:
    """Give them to the broker, or raise `BrokerAway`; those that have no way to go."""
    return broker().publish(with_arguments(messages) if broker().routes_by_arguments else messages)


def connect() -> BrokerAway | None:
    """Connect to the broker before there is something to send; why that was not possible, if so."""
    try:
        if not is_eager():
            broker().connect()
    except BrokerAway as away:
        return away
    return None


def _set_aside(refused: Sequence[Refused], now: datetime) -> None:
    """Runs that have no way to go wait with the reason, and do not hold the others up."""
    limit = get_settings().max_error_chars
    by_reason: dict[str, list[str]] = {}
    for message, why in refused:
        by_reason.setdefault(cut(clean(why), limit), []).append(message.run_id)
    for why, run_ids in by_reason.items():
        runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.PENDING)
        with bounded():
            waits = because(Reason.PUBLISH_FAILED, now)
            update_free(runs, **waits, admitted_at=None, publish_after=now + SET_ASIDE, error=why)


def stamp(run_ids: Collection[str], now: datetime) -> int:
    """Note that these are in the broker. A worker may already have started one, which changes nothing here.

    One that a worker has already handed back waits again: its message is used up, so it is not stamped. One that
    somebody holds is not stamped either, and goes out once more when it is free; that does nothing.
    """
    if not run_ids:
        return 0
    try:
        return retrying_conflicts(lambda: _stamp(run_ids, now, skip=False))
    except Error as error:
        if trouble_of(error) is not Trouble.LOCKED:
            raise
        logger.warning("of %s runs that were sent, some are held by somebody else and go out once more", len(run_ids))
        return _stamp(run_ids, now, skip=True)


def _stamp(run_ids: Collection[str], now: datetime, *, skip: bool) -> int:
    alias = ledger_alias()
    stamped = _stamp_in_one_statement if is_postgresql(alias) else _stamp_portably
    return stamped(alias, run_ids, now, skip)


def _stamp_in_one_statement(_: str, run_ids: Collection[str], now: datetime, skip: bool) -> int:
    statement = sql("publish/stamp_runs").replace("{skip}", "SKIP LOCKED" if skip else "")
    return run_bounded(statement, [array_literal(list(run_ids)), now, now + FIRST_LOOK])


def _stamp_portably(alias: str, run_ids: Collection[str], now: datetime, skip: bool) -> int:
    sent = RoutineRun.objects.using(alias).filter(id__in=run_ids, dispatched_at=None, admitted_at__isnull=False)
    update = update_free if skip else update_in_order
    with bounded():
        return update(sent, dispatched_at=now, publish_count=F("publish_count") + 1, publish_after=now + FIRST_LOOK)


def after_commit(*runs: RoutineRun) -> None:
    """Send new runs as soon as the transaction commits. What cannot be sent now is left to a beat."""
    if runs:
        on_commit(lambda: _send_now(runs))


def _send_now(runs: Sequence[RoutineRun]) -> None:
    pooled = [run.pk for run in runs if run.pool_id is not None]
    try:
        if len(pooled) < len(runs):
            send(_admitted([run.pk for run in runs if run.pool_id is None]))
        if pooled:  # there they may have to wait, and others may have to go before them
            send(admit_pools(clock.now(), only=pooled))
    except Exception:
        # The request that asked for the run has committed it: a beat finds it in the outbox. Whatever the database,
        # the broker or a project's router raised here, the caller of run_now can do nothing about it.
        logger.exception("sending runs after the commit failed; a beat will send them")


def _admitted(run_ids: Collection[UUID]) -> list[Message]:
    """Their messages, but of those that the caller's transaction has cancelled since."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.PENDING, dispatched_at=None)
    return messages_of(rows.filter(admitted_at__isnull=False))
