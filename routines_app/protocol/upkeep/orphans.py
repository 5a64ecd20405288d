"""Orphans: RUNNING rows whose worker is gone.

A heartbeat's age is not compared with a clock: a beat calls a run orphaned only when it has itself seen the same
heartbeat for long enough, by its own monotonic clock, and the count starts again after every outage of the database. So
neither a wrong clock nor an outage orphans a run that lives; nor does somebody who holds its row locked, which starts
the count of that run again. An exclusive run must also have lost its lease.

A run whose row, state or routine somebody holds at the end is left for the next pass, and named in the log; so is one
that cannot be ended for a reason of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import redis
from django.db import Error
from django.db.models import QuerySet

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end.finish import Lost, finish
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import (
    Trouble,
    is_about_a_value,
    is_outage,
    retrying_conflicts,
    trouble_of,
)
from routines_app.protocol.ledger.locks import free_keys, lock_free_states, skipping_locked, unheld
from routines_app.protocol.ledger.moments import take_unreadable_away, unreadable
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.record import facts
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.upkeep.mend import mend_run

logger = logging.getLogger(__name__)

LEASES_SECONDS = 1.0  # how long a pass may ask for leases: a beat has more to do than to wait for Redis
ORPHANS_SECONDS = 2.0  # how long a pass may end orphans, for the same reason

_said = SaidOnce(logger)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A RUNNING row, as it was read."""

    run_id: UUID
    at: datetime | None
    orphan_seconds: float | None = None
    """How long this run's heart may be silent, by its worker's word; None: as the setting says."""


@dataclass(frozen=True, slots=True)
class _Seen:
    beat: Heartbeat
    since: float

    def is_silent(self, now: float, part: float = 1.0) -> bool:
        allowed = self.beat.orphan_seconds
        return now - self.since >= part * (get_settings().orphan_seconds if allowed is None else allowed)


class Observer:
    """What one beat has seen of the running runs; in memory, by its own monotonic clock."""

    def __init__(self) -> None:
        self._seen: dict[UUID, _Seen] = {}

    def observe(self, beats: Iterable[Heartbeat], monotonic_now: float) -> list[UUID]:
        """Take note of heartbeats; the runs whose heart has stood still for too long."""
        before, self._seen = self._seen, {}
        for beat in beats:
            last = before.get(beat.run_id)
            since = last.since if last is not None and last.beat.at == beat.at else monotonic_now
            self._seen[beat.run_id] = _Seen(beat, since)
        return [run_id for run_id, seen in self._seen.items() if seen.is_silent(monotonic_now)]

    def suspects(self, monotonic_now: float) -> list[UUID]:
        """The runs that have been silent for half of what is allowed."""
        return [run_id for run_id, seen in self._seen.items() if seen.is_silent(monotonic_now, part=0.5)]

    def start_again(self, run_ids: Iterable[UUID], monotonic_now: float) -> None:
        """Nothing is known of these: whatever was seen of them does not count."""
        for run_id in run_ids:
            seen = self._seen.get(run_id)
            if seen is not None:
                self._seen[run_id] = replace(seen, since=monotonic_now)

    def reset(self) -> None:
        """The database was away: heartbeats could not be written, so what was seen proves nothing."""
        self._seen.clear()


def running_heartbeats(now: datetime) -> list[Heartbeat]:
    """The rows to observe. A heartbeat that nobody can read is taken away: the next one is written over it anyway."""
    try:
        return _read_heartbeats()
    except Error as error:
        if trouble_of(error) is not Trouble.VALUE:
            raise
    with bounded():
        take_unreadable_away(_running().filter(unreadable("heartbeat_at")), now)
    return _read_heartbeats()


def _running() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.RUNNING)


def _read_heartbeats() -> list[Heartbeat]:
    with bounded():
        rows = _running().order_by("id").values_list("id", "heartbeat_at", "orphan_seconds")
        return [Heartbeat(*row) for row in rows]


def orphan_silent(observer: Observer, now: datetime, monotonic_now: float) -> int:
    """One look at all running runs; how many were orphaned. What keeps us from reading them starts the count again."""
    try:
        silent = observer.observe(running_heartbeats(now), monotonic_now)
        locked = locked_runs(observer.suspects(monotonic_now))
    except Exception as error:
        # Whatever kept us from reading may keep workers from writing; but a conflict is over when it is told.
        if not (isinstance(error, Error) and trouble_of(error) is Trouble.CONFLICT):
            observer.reset()
        raise
    observer.start_again(locked, monotonic_now)
    return len(orphan_runs([run_id for run_id in silent if run_id not in locked], now))


def locked_runs(run_ids: Collection[UUID]) -> set[UUID]:
    """Those whose row somebody has locked: no heart could have stamped it, so their silence says nothing.

    Asked for from half of the allowed silence on, in every pass: one that comes free at last is stamped by its heart
    before it is called an orphan.
    """
    if not run_ids:
        return set()
    with bounded():
        return set(run_ids) - unheld(RoutineRun, run_ids)


def orphan_runs(run_ids: Collection[UUID], now: datetime) -> list[UUID]:
    """End these runs as FAILED (orphaned), unless their lease lives; of several reconcilers one wins each."""
    lease_look = LeaseLook()
    until = time.monotonic() + ORPHANS_SECONDS
    orphaned = []
    for run_id in sorted(run_ids, key=_left_before):
        if time.monotonic() > until:
            break
        if _orphan_one(run_id, lease_look, now):
            orphaned.append(run_id)
    _said.keep(run_ids)
    return orphaned


def _left_before(run_id: UUID) -> bool:
    """Those that could not be ended the last time come last: they may take all the time there is."""
    return run_id in _said


def _orphan_one(run_id: UUID, lease_look: LeaseLook, now: datetime) -> bool:
    """One row that cannot be read or ended must not keep the others from being found."""
    name = ""
    try:
        found = _mending(run_id, now, lambda: _load(run_id))
        if found is None or not lease_look.is_over(found):
            return False
        name = f" of {found.routine_name}"
        return _mending(run_id, now, lambda: retrying_conflicts(lambda: _orphan(found, now)))
    except Error as error:
        if is_outage(error):
            raise
        _said.warn(run_id, f"run {run_id}{name} is silent, but could not be orphaned: {error}")
    except Exception as error:
        if _said.note(run_id, repr(error)):
            logger.exception("run %s%s is silent, but could not be orphaned", run_id, name)
    return False


def _mending(run_id: UUID, now: datetime, act: Callable[[], Result]) -> Result:
    """Do it, and once more if a value that cannot be read was in the way: that is taken away first."""
    try:
        return act()
    except Exception as error:
        if not is_about_a_value(error):
            raise
        mend_run(run_id, error, now)
    return act()


def _load(run_id: UUID) -> RunFacts | None:
    with bounded():
        return facts.load(run_id)


class LeaseLook:
    """Asks for leases during one pass, as long as Redis answers in time; the next pass asks again."""

    def __init__(self) -> None:
        self._seconds_left = LEASES_SECONDS

    def is_over(self, run: RunFacts) -> bool:
        """Whether the run's lease is gone. When nobody can tell, an exclusive run that may live is left alone."""
        if not run.exclusive:
            return True
        if self._seconds_left <= 0:
            return False
        began = time.monotonic()
        try:
            lease = leases.holder(run.routine_id)
        except redis.RedisError:
            self._seconds_left = 0.0
            return False
        self._seconds_left -= time.monotonic() - began
        return lease is None or lease[0] != run.token


def _orphan(run: RunFacts, now: datetime) -> bool:
    # The silence itself was the delay: the next attempt goes at once.
    error = f"found at {now:%H:%M:%S} UTC: its worker {run.worker} has been silent"
    with bounded(lock_ms=QUICK_LOCK_MS):
        if held := _held(run):
            _said.warn(
                run.id, f"run {run.id} of {run.routine_name} is silent, but somebody else holds {held}: it waits"
            )
            return False
        ended = finish(run, failed(Reason.ORPHANED, error, asked_delay_ms=0))
    if isinstance(ended, Lost):
        return False
    logger.warning("run %s of %s is orphaned: %s", run.id, run.routine_name, error)
    return True


def _held(run: RunFacts) -> str:
    """Lock what its end writes or refers to, waiting for nobody; what somebody else holds of it."""
    if not lock_free_states([run.routine_id]):
        return "its routine's state"
    if not free_keys(Routine, [run.routine_id]):
        return "its routine's row"
    rows = RoutineRun.objects.using(ledger_alias()).filter(id=run.id).order_by("id")
    # The end of an exclusive run empties its `running_key`, which is a key: whoever refers to the row holds that, too.
    free = skipping_locked(rows, keys=run.exclusive)
    return "" if list(free.values_list("id", flat=True)) else "its row"
