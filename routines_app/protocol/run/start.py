"""Start: a message has arrived, and its run may begin.

The broker is a doorbell, the row is the work. The only way into a body is the compare-and-set PENDING -> RUNNING, so a
message whose row is not PENDING does nothing, however often it is delivered. For a routine that allows overlap this is
one statement. For an exclusive one the lease comes first (one round trip to Redis that keeps the crowd away), then one
statement that locks the routine's state, refuses while another run of the routine is RUNNING, raises the fence and sets
the unique `running_key`: Redis may forget every lease and still no second exclusive run becomes RUNNING.

A PENDING row that may not start now is handed back with its reason, and costs no attempt: nothing is dropped silently.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

import redis
from django.db import IntegrityError, connections, transaction

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.expiry import is_expired
from routines_app.core.holding import GOES_ANYWAY, HELD_AS, held_as
from routines_app.core.words import EXCLUSIVE, Reason, RoutineStatus, RunStatus
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.end.catch_up import continue_catch_up
from routines_app.protocol.end.unstarted import end_pending
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql, words
from routines_app.protocol.ledger.locks import lock_state
from routines_app.protocol.ledger.prepared import run_statement
from routines_app.protocol.record import facts
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.facts import RunFacts

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
    """The row is not PENDING (or not there, or still held): the message does nothing."""


Start = Started | Refused | Expired | Retired | NotOurs


@dataclass(frozen=True, slots=True)
class _Look:
    """Why a row did not start at the first try."""

    run: RoutineRun
    now: datetime

    @property
    def waits_for(self) -> Reason | None:
        """Why it waits until a person lets it go on; what somebody asked for by hand does not wait."""
        return held_as(self.run.routine.status, self.run.trigger)

    @property
    def retired(self) -> bool:
        return self.run.routine.status == RoutineStatus.ARCHIVED

    @property
    def expired(self) -> bool:
        run = self.run
        return is_expired(run.trigger, run.scheduled_for, run.eligible_at, run.routine.expires_ms, self.now)

    @property
    def held(self) -> bool:
        """It waits for room in its pool: this message is an old one."""
        return self.run.pool_id is not None and self.run.admitted_at is None


def start(run_id: UUID, worker: str, *, exclusive: int | bool = False, lease: bool = True) -> Start:
    """Try to begin the run. `exclusive` is a hint that saves the first try; a routine's id saves a read as well.

    `lease=False` leaves Redis out (eager mode): the running key still keeps exclusive runs apart.
    """
    if not exclusive and (found := _start_shared(run_id, worker)):
        return Started(found)
    if exclusive is not True and exclusive and (begun := _start_leased(run_id, exclusive, worker, lease)):
        return begun
    look = _look(run_id)
    if look is None:
        return NotOurs()
    return _start_after(look, worker, lease)


def _start_after(look: _Look, worker: str, lease: bool) -> Start:
    run = look.run
    if run.status != RunStatus.PENDING or look.held:
        return NotOurs()
    if look.retired:
        return _retire(look)
    if look.waits_for:
        return hand_back(run.id, look.waits_for, look.now)
    if look.expired:
        return _expire(look)
    if not run.routine.is_exclusive:
        found = _start_shared(run.id, worker)
        return Started(found) if found else hand_back(run.id, Reason.KEY_TAKEN, look.now)
    return _start_leased(run.id, run.routine_id, worker, lease) or hand_back(run.id, Reason.KEY_TAKEN, look.now)


def _look(run_id: UUID) -> _Look | None:
    run = RoutineRun.objects.using(ledger_alias()).select_related("routine").filter(id=run_id).first()
    return None if run is None else _Look(run, clock.now())


def hand_back(run_id: UUID, reason: Reason, now: datetime) -> Start:
    """Make a PENDING row wait again, without using up an attempt; one that started meanwhile is left alone."""
    eligible_at = now + HAND_BACK
    # The resume of a paused routine, or the reset of a parked one, sets `publish_after`: until then there is nothing
    # to look at.
    publish_after = None if reason in HELD_AS.values() else eligible_at
    handed = (
        RoutineRun.objects.using(ledger_alias())
        .filter(id=run_id, status=RunStatus.PENDING)
        .update(
            dispatched_at=None, admitted_at=None, eligible_at=eligible_at, publish_after=publish_after, reason=reason
        )
    )
    return Refused(reason) if handed else NotOurs()


def _expire(look: _Look) -> Start:
    alias, run = ledger_alias(), look.run
    with transaction.atomic(using=alias):
        lock_state(run.routine_id)
        won = (
            RoutineRun.objects.using(alias)
            .filter(id=run.id, status=RunStatus.PENDING)
            .update(status=RunStatus.SKIPPED, reason=Reason.EXPIRED, completed_at=look.now, publish_after=None)
        )
        if won:
            continue_catch_up([run.routine_id], look.now)
            run.status, run.reason = RunStatus.SKIPPED, Reason.EXPIRED
            tell([run])
    return Expired() if won else NotOurs()


def _retire(look: _Look) -> Start:
    """Archiving cancels what is PENDING; a row that was written at that very moment is cancelled by its message."""
    alias, run = ledger_alias(), look.run
    with transaction.atomic(using=alias):
        lock_state(run.routine_id)
        won = end_pending(run.routine_id, [run.id], Reason.ARCHIVED, look.now)
    return Retired() if won else NotOurs()


# Exclusive


def _start_leased(run_id: UUID, routine_id: int, worker: str, lease: bool) -> Start | None:
    """Take the lease, then start; None when the row itself says no."""
    if not lease:
        found = _start_exclusive(run_id, routine_id, worker)
        return Started(found) if found else None
    try:
        if not leases.acquire(routine_id, str(run_id), get_settings().lease_seconds):
            return hand_back(run_id, Reason.LEASE_HELD, clock.now())
    except redis.RedisError:
        return hand_back(run_id, Reason.REDIS_AWAY, clock.now())
    found = _start_exclusive_or_release(run_id, routine_id, worker)
    return Started(found) if found else None


def _start_exclusive_or_release(run_id: UUID, routine_id: int, worker: str) -> RunFacts | None:
    found = None
    try:
        found = _start_exclusive(run_id, routine_id, worker)
    finally:
        # A message that arrives twice takes the lease of its own RUNNING run again: that one must be left alone.
        if found is None and not _is_running(run_id):
            leases.release_quietly(routine_id, str(run_id))
    return found


def _is_running(run_id: UUID) -> bool:
    return RoutineRun.objects.using(ledger_alias()).filter(id=run_id, status=RunStatus.RUNNING).exists()


def _start_exclusive(run_id: UUID, routine_id: int, worker: str) -> RunFacts | None:
    try:
        return _begin(run_id, worker, routine_id)
    except IntegrityError:  # another exclusive run became RUNNING at the same moment: the unique key has decided
        return None


def _start_shared(run_id: UUID, worker: str) -> RunFacts | None:
    return _begin(run_id, worker, None)


# The compare-and-set, per database


def _begin(run_id: UUID, worker: str, routine_id: int | None) -> RunFacts | None:
    alias = ledger_alias()
    begin = _begin_in_one_statement if is_postgresql(alias) else _begin_portably
    return begin(alias, run_id, worker, routine_id)


def _begin_in_one_statement(alias: str, run_id: UUID, worker: str, routine_id: int | None) -> RunFacts | None:
    statement = _statement("run/start_shared" if routine_id is None else "run/start_exclusive")
    arguments = {"run": run_id, "worker": worker, "routine": routine_id}
    # In a transaction of a caller's (eager mode) a refused key must not spoil what the caller does next.
    savepoint = transaction.atomic(using=alias) if connections[alias].in_atomic_block else nullcontext()
    with savepoint:
        rows = run_statement(alias, statement, arguments)
    return facts.from_row(rows[0]) if rows else None


@lru_cache(maxsize=2)
def _statement(name: str) -> str:
    may_start = sql("run/may_start").format(held=words(HELD_AS), goes_anyway=words([GOES_ANYWAY]))
    return sql(name).format(may_start=may_start, exclusive=words(EXCLUSIVE), facts=facts.returning())


def _begin_portably(alias: str, run_id: UUID, worker: str, routine_id: int | None) -> RunFacts | None:
    exclusive = routine_id is not None
    with transaction.atomic(using=alias):
        run = RoutineRun.objects.using(alias).select_related("routine").filter(id=run_id).first()
        if run is None or routine_id not in (None, run.routine_id):  # the lease is another routine's
            return None
        state = lock_state(run.routine_id)
        if state is None or not _may_begin(run, exclusive):
            return None
        fence = _raise_fence(alias, state) if exclusive else None
        if exclusive and fence is None:
            return None
        return _set_running(alias, run, worker, fence)


def _may_begin(run: RoutineRun, exclusive: bool) -> bool:
    look = _Look(run, clock.now())
    fitting = run.routine.is_exclusive == exclusive
    refused = look.retired or look.waits_for or look.expired or look.held
    return run.status == RunStatus.PENDING and fitting and not refused


def _raise_fence(alias: str, state: RoutineState) -> int | None:
    """The new fence, or None while another run of the routine is RUNNING. The state is locked."""
    if RoutineRun.objects.using(alias).filter(routine_id=state.pk, status=RunStatus.RUNNING).exists():
        return None
    state.fence += 1
    state.save(using=alias, update_fields=["fence"])
    return state.fence


def _set_running(alias: str, run: RoutineRun, worker: str, fence: int | None) -> RunFacts | None:
    now = clock.now()
    won = (
        RoutineRun.objects.using(alias)
        .filter(id=run.id, status=RunStatus.PENDING)
        .update(
            status=RunStatus.RUNNING,
            reason=Reason.NONE,
            started_at=now,
            heartbeat_at=now,
            worker=worker,
            publish_after=None,
            running_key=None if fence is None else run.routine_id,
            fence=fence,
        )
    )
    return facts.load(run.id) if won else None
