"""Start: a message has arrived, and its run may begin.

The broker is a doorbell, the row is the work. The only way into a body is the compare-and-set PENDING -> RUNNING, so a
message whose row is not PENDING does nothing, however often it is delivered. For a routine that allows overlap this is
one statement. For an exclusive one the lease comes first (one round trip to Redis that keeps the crowd away), then one
statement that locks the routine's state, refuses while another run of the routine is RUNNING, raises the fence and sets
the unique `running_key`: Redis may forget every lease and still no second exclusive run becomes RUNNING.

A PENDING row that may not start now is handed back with its reason, and costs no attempt: nothing is dropped silently.

Nor does a start wait for a row that somebody holds: other runs want this worker, and each further message of the same
run would take another. It is handed back too; where its own row is held, and nothing can be written, the message is
used up as a lost one is: upkeep rings it in again at its first look after the row is free (`lost_messages`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import redis
from django.db import Error, IntegrityError, connections

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.holding import HELD_AS
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import continue_catch_up
from routines_app.protocol.end.line import let_next_go
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import Trouble, trouble_of
from routines_app.protocol.ledger.locks import lock_state, update_if
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.waits import because
from routines_app.protocol.rotate.settle import settle_ended
from routines_app.protocol.run.begin import EARLY, Look, Starter, begin, own

HAND_BACK = timedelta(seconds=1)  # soon enough for a lease that is about to be released, rare enough to be cheap


@dataclass(frozen=True, slots=True)
class Started:
    """The body may run now, once. Whoever runs it tells that it has started, once somebody watches it."""

    facts: RunFacts


@dataclass(frozen=True, slots=True)
class Refused:
    """The row was handed back and will be published again."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Expired:
    """The row was too old and is SKIPPED now."""


@dataclass(frozen=True, slots=True)
class Retired:
    """The routine is archived, and the row is CANCELLED now."""


@dataclass(frozen=True, slots=True)
class NotOurs:
    """The row is not PENDING, or not there, or waits for its time or its pool: the message does nothing."""


@dataclass(frozen=True, slots=True)
class RowHeld:
    """Somebody holds the run's own row: nothing could be read for sure, or written."""


Start = Started | Refused | Expired | Retired | NotOurs | RowHeld


def start(
    run_id: UUID,
    worker: str,
    *,
    exclusive: int | bool = False,
    lease: bool = True,
    token: UUID | None = None,
    orphan_seconds: int | None = None,
) -> Start:
    """Try to begin the run. `exclusive` is a hint that saves the first try; a routine's id saves a read as well.

    `lease=False` leaves Redis out (eager mode): the running key still keeps exclusive runs apart. Asked again with the
    same `token`, because the ledger's answer was lost, it answers once more.
    """
    by = Starter(worker=worker, token=token or uuid4(), orphan_seconds=orphan_seconds)
    try:
        return _try_to_start(run_id, by, exclusive, lease)
    except Error as error:
        if not _is_held(error):
            raise
    return hand_back(run_id, Reason.ROUTINE_HELD, clock.now())


def _try_to_start(run_id: UUID, by: Starter, exclusive: int | bool, lease: bool) -> Start:
    if not exclusive and (found := begin(run_id, by, None)):
        return Started(found)
    if exclusive is not True and exclusive and (begun := _start_leased(run_id, exclusive, by, lease)):
        return begun
    look = _look(run_id)
    return NotOurs() if look is None else _start_after(look, by, lease)


def _is_held(error: Error) -> bool:
    """Whether somebody holds a row. SQLite locks all rows at once: that is for whoever waits for the ledger."""
    rows_are_locked_apart = connections[ledger_alias()].features.has_select_for_update
    return rows_are_locked_apart and trouble_of(error) is Trouble.LOCKED


def _start_after(look: Look, by: Starter, lease: bool) -> Start:
    run = look.run
    if run.status == RunStatus.RUNNING and run.start_token == by.token:
        found = own(run.id, by)
        return Started(found) if found else NotOurs()
    if run.status != RunStatus.PENDING or look.held or look.early:
        return NotOurs()
    if look.retired:
        return _retire(look)
    if look.waits_for:
        return hand_back(run.id, look.waits_for, look.now)
    if look.expired:
        return _expire(look)
    if not run.routine.is_exclusive:
        found = begin(run.id, by, None)
        # Nothing else keeps it: somebody edits the routine, or holds its row.
        return Started(found) if found else hand_back(run.id, Reason.ROUTINE_HELD, look.now)
    return _start_leased(run.id, run.routine_id, by, lease) or hand_back(run.id, Reason.KEY_TAKEN, look.now)


def _look(run_id: UUID) -> Look | None:
    run = RoutineRun.objects.using(ledger_alias()).select_related("routine").filter(id=run_id).first()
    return None if run is None else Look(run, clock.now())


def hand_back(run_id: UUID, reason: Reason, now: datetime, *, of: int | None = None) -> Start:
    """Make a PENDING row wait again, without using up an attempt; `of` is the routine that it should be of.

    One that started meanwhile is left alone, and so is one whose time has not come: it would be sent too early. One
    whose row is held stays as it is.
    """
    waits = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, eligible_at__lte=now + EARLY)
    if of is not None:
        waits = waits.filter(routine_id=of)
    eligible_at = now + HAND_BACK
    values = because(reason, now) | {"dispatched_at": None, "admitted_at": None, "eligible_at": eligible_at}
    # The resume of a paused routine, or the reset of a parked one, sets `publish_after`: until then there is nothing
    # to look at.
    publish_after = None if reason in HELD_AS.values() else eligible_at
    try:
        with bounded():
            won = update_if(waits, [run_id], publish_after=publish_after, **values)
    except Error as error:
        if not _is_held(error):
            raise
        return RowHeld()
    return Refused(reason) if won else NotOurs()


def _expire(look: Look) -> Start:
    run = look.run
    with bounded():
        lock_state(run.routine_id)
        pending = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING)
        ended = {"status": RunStatus.SKIPPED, "reason": Reason.EXPIRED, "completed_at": look.now}
        won = update_if(pending, [run.id], publish_after=None, **ended)
        if won:
            continue_catch_up([run.routine_id], look.now)
            let_next_go([run.routine_id], look.now)
            settle_ended([(run.routine_id, run.rotation_id)], look.now)
            run.status, run.reason = RunStatus.SKIPPED, Reason.EXPIRED
            tell([run])
    return Expired() if won else NotOurs()


def _retire(look: Look) -> Start:
    """Archiving cancels what is PENDING; a row that was written at that very moment is cancelled by its message."""
    run = look.run
    with bounded():
        lock_state(run.routine_id)
        won = end_pending(run.routine_id, [run.id], Reason.ARCHIVED, look.now)
    return Retired() if won else NotOurs()


# Exclusive


def _start_leased(run_id: UUID, routine_id: int, by: Starter, lease: bool) -> Start | None:
    """Take the lease, then start; None when the row itself says no, or is not one of the routine's."""
    if not lease:
        found = _begin_alone(run_id, routine_id, by)
        return Started(found) if found else None
    try:
        refused = None if leases.acquire(routine_id, str(run_id), get_settings().lease_seconds) else Reason.LEASE_HELD
    except redis.RedisError:
        refused = Reason.REDIS_AWAY
    if refused:
        handed = hand_back(run_id, refused, clock.now(), of=routine_id)
        return handed if isinstance(handed, Refused) else None
    found = _begin_or_release(run_id, routine_id, by)
    return Started(found) if found else None


def _begin_or_release(run_id: UUID, routine_id: int, by: Starter) -> RunFacts | None:
    found = None
    try:
        found = _begin_alone(run_id, routine_id, by)
    finally:
        # A message that arrives twice takes the lease of its own RUNNING run again: that one must be left alone.
        if found is None and not _is_running(run_id, routine_id):
            leases.release_quietly(routine_id, str(run_id))
    return found


def _is_running(run_id: UUID, routine_id: int) -> bool:
    runs = RoutineRun.objects.using(ledger_alias())
    return runs.filter(id=run_id, routine_id=routine_id, status=RunStatus.RUNNING).exists()


def _begin_alone(run_id: UUID, routine_id: int, by: Starter) -> RunFacts | None:
    try:
        return begin(run_id, by, routine_id)
    except IntegrityError:  # another exclusive run became RUNNING at the same moment: the unique key has decided
        return None
