"""The compare-and-set PENDING -> RUNNING, per database, and what every start asks before it.

A start's answer can be lost on its way: the row is RUNNING then, and nobody runs its body. So each execution of a
message writes a token of its own, and whoever asks again with the same token is told once more: the row is its own.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID, uuid4

from django.db import connections, transaction

from routines_app.core.expiry import is_expired
from routines_app.core.holding import HELD_AS, held_as
from routines_app.core.words import EXCLUSIVE, Reason, RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql, words
from routines_app.protocol.ledger.locks import lock_run, lock_state, update_free, update_locked
from routines_app.protocol.ledger.prepared import run_statement
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record import facts
from routines_app.protocol.record.facts import RunFacts

EARLY = timedelta(seconds=1)  # how long before its time a run may start: clocks differ, and a message is fast
# A start waits for claims, stamps and ends; whoever holds a row for longer keeps other runs from a worker.
LOCK_MS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Starter:
    """Who starts a run, and what its row is to say of that."""

    worker: str
    token: UUID = field(default_factory=uuid4)
    """Of this execution of the message. Workers' names repeat, and so do messages."""
    orphan_seconds: int | None = None
    """How long the heart may be silent there, when that is not what the setting says."""


@dataclass(frozen=True, slots=True)
class Look:
    """What keeps a run from starting; `may_start.sql` asks the same."""

    run: RoutineRun
    now: datetime

    @property
    def waits_for(self) -> Reason | None:
        """Why it waits until a person lets it go on; what somebody asked for by hand does not wait."""
        return held_as(self.run.routine.status, self.run.requested_at)

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

    @property
    def early(self) -> bool:
        """Its time has not come: nobody of ours has sent this message."""
        return self.run.eligible_at > self.now + EARLY


def begin(run_id: UUID, by: Starter, routine_id: int | None) -> RunFacts | None:
    """Start the run if it may; exclusively when the routine's id is given. What is wanted here must fit the policy."""
    alias = ledger_alias()
    way = _begin_in_one_statement if is_postgresql(alias) else _begin_portably
    return way(alias, run_id, by, routine_id)


def own(run_id: UUID, by: Starter) -> RunFacts | None:
    """The run that this starter has started before, without hearing of it; its heart begins to beat only now.

    A row that somebody holds is its own all the same: the next heartbeat is written by whoever looks after the body.
    """
    ours = RoutineRun.objects.using(ledger_alias()).filter(id=run_id, status=RunStatus.RUNNING, start_token=by.token)
    with bounded():
        update_free(ours, heartbeat_at=clock.now())
        return facts.load(run_id, by.token) if ours.exists() else None


def _begin_in_one_statement(alias: str, run_id: UUID, by: Starter, routine_id: int | None) -> RunFacts | None:
    statement = _statement("run/start_shared" if routine_id is None else "run/start_exclusive")
    arguments = {
        "run": run_id,
        "routine": routine_id,
        "worker": by.worker,
        "token": by.token,
        "orphan_seconds": by.orphan_seconds,
        "eligible": clock.now() + EARLY,
        "lock_timeout": None if connections[alias].in_atomic_block else f"{LOCK_MS}ms",
    }
    # In a transaction of a caller's (eager mode) a refused key must not spoil what the caller does next.
    savepoint = transaction.atomic(using=alias) if connections[alias].in_atomic_block else nullcontext()
    with savepoint:
        rows = run_statement(alias, statement, arguments)
    return facts.from_row(rows[0]) if rows else None


@lru_cache(maxsize=2)
def _statement(name: str) -> str:
    may_start = sql("run/may_start").format(held=words(HELD_AS))
    return sql(name).format(may_start=may_start, exclusive=words(EXCLUSIVE), facts=facts.returning())


def _begin_portably(alias: str, run_id: UUID, by: Starter, routine_id: int | None) -> RunFacts | None:
    exclusive = routine_id is not None
    owner = routine_id if routine_id is not None else _routine_of(alias, run_id)
    if owner is None:
        return None
    with _limited(alias):
        # Both locks come before the first plain read: an edit that we waited for counts, also where a transaction
        # sees one state of the database from its first read on.
        state = lock_state(owner)
        run = lock_run(RoutineRun.objects.using(alias), run_id)
        if state is None or run is None or run.routine_id != owner:  # the lease is another routine's
            return None
        run.routine = Routine.objects.using(alias).get(pk=owner)
        if not _may_begin(run, exclusive):
            return None
        fence = _raise_fence(alias, state) if exclusive else None
        if exclusive and fence is None:
            return None
        return _set_running(run, by, fence)


def _limited(alias: str) -> AbstractContextManager[object]:
    """In a transaction of a caller's (eager mode) the caller's limits hold."""
    inside = connections[alias].in_atomic_block
    return transaction.atomic(using=alias) if inside else bounded(lock_ms=LOCK_MS)


def _routine_of(alias: str, run_id: UUID) -> int | None:
    return RoutineRun.objects.using(alias).filter(id=run_id).values_list("routine_id", flat=True).first()


def _may_begin(run: RoutineRun, exclusive: bool) -> bool:
    look = Look(run, clock.now())
    fitting = run.routine.is_exclusive == exclusive
    refused = look.retired or look.waits_for or look.expired or look.held or look.early
    return run.status == RunStatus.PENDING and fitting and not refused


def _raise_fence(alias: str, state: RoutineState) -> int | None:
    """The new fence, or None while another run of the routine is RUNNING. The state is locked."""
    if RoutineRun.objects.using(alias).filter(routine_id=state.pk, status=RunStatus.RUNNING).exists():
        return None
    state.fence += 1
    state.save(using=alias, update_fields=["fence"])
    return state.fence


def _set_running(run: RoutineRun, by: Starter, fence: int | None) -> RunFacts | None:
    now = clock.now()
    update_locked(
        [run.id],
        status=RunStatus.RUNNING,
        reason=Reason.NONE,
        started_at=now,
        heartbeat_at=now,
        worker=by.worker,
        start_token=by.token,
        orphan_seconds=by.orphan_seconds,
        publish_after=None,
        running_key=None if fence is None else run.routine_id,
        fence=fence,
    )
    return facts.load(run.id, by.token)
