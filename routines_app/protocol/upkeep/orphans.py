"""Orphans: RUNNING rows whose worker is gone.

A heartbeat's age is not compared with a clock: a beat calls a run orphaned only when it has itself seen the same
heartbeat for long enough, by its own monotonic clock, and the count starts again after every error of the database. So
neither a wrong clock nor an outage orphans a run that lives. An exclusive run must also have lost its lease.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

import redis
from django.db import Error

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import Lost, finish
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record import facts
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import failed

logger = logging.getLogger(__name__)

LEASES_SECONDS = 1.0  # how long a pass may ask for leases: a beat has more to do than to wait for Redis


class Observer:
    """What one beat has seen of the running runs; in memory, by its own monotonic clock."""

    def __init__(self) -> None:
        self._seen: dict[UUID, tuple[datetime | None, float]] = {}

    def observe(self, rows: Iterable[tuple[UUID, datetime | None]], monotonic_now: float) -> list[UUID]:
        """Take note of (run, heartbeat) rows; the runs whose heartbeat has stood still for too long."""
        before, self._seen = self._seen, {}
        for run_id, heartbeat_at in rows:
            last, since = before.get(run_id, (heartbeat_at, monotonic_now))
            self._seen[run_id] = (heartbeat_at, since if last == heartbeat_at else monotonic_now)
        limit = get_settings().orphan_seconds
        return [run_id for run_id, (_, since) in self._seen.items() if monotonic_now - since >= limit]

    def reset(self) -> None:
        """The database was away: heartbeats could not be written, so what was seen proves nothing."""
        self._seen.clear()


def running_heartbeats() -> list[tuple[UUID, datetime | None]]:
    """The rows to observe."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.RUNNING).order_by("id")
    return list(rows.values_list("id", "heartbeat_at"))


def orphan_silent(observer: Observer, now: datetime, monotonic_now: float) -> int:
    """One look at all running runs; how many were orphaned. An error of the database starts the count again."""
    try:
        return len(orphan_runs(observer.observe(running_heartbeats(), monotonic_now), now))
    except Exception:
        observer.reset()
        raise


def orphan_runs(run_ids: Collection[UUID], now: datetime) -> list[UUID]:
    """End these runs as FAILED (orphaned), unless their lease lives; of several reconcilers one wins each."""
    lease_look = LeaseLook()
    return [run_id for run_id in run_ids if _orphan_one(run_id, lease_look, now)]


def _orphan_one(run_id: UUID, lease_look: LeaseLook, now: datetime) -> bool:
    """One row that cannot be read or ended must not keep the others from being found."""
    try:
        found = facts.load(run_id)
        return found is not None and lease_look.is_over(found) and _orphan(found, now)
    except Error:
        raise
    except Exception:
        logger.exception("run %s is silent, but could not be orphaned", run_id)
        return False


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
    if isinstance(finish(run, failed(Reason.ORPHANED, error, asked_delay_ms=0)), Lost):
        return False
    logger.warning("run %s of %s is orphaned: %s", run.id, run.routine_name, error)
    return True
