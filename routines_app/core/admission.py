"""Admission: the one decision on every path into the broker.

Schedule, run-now, retry, catch-up and backfill all ask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from routines_app.core.words import ConcurrencyPolicy, Reason

LOOK_AGAIN = timedelta(seconds=1)  # at a run that waits for another; the end of that other run usually comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The PENDING run that asks to be published."""

    policy: ConcurrencyPolicy
    fresh: bool
    """It is being created now. Overlap is judged then; later it only waits."""
    eligible_at: datetime
    routine_paused: bool = False
    manual: bool = False
    replace_grace_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRun:
    """Another run of the same routine that is PENDING or RUNNING."""

    id: UUID
    running: bool
    sent: bool = False
    """It is PENDING and was let through: it is on its way to a worker, or queues for room in its pool."""
    newer: bool = False
    """It was created after the candidate."""
    stop_requested_at: datetime | None = None
    overdue: bool = False
    """Its body cannot be stopped and still runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    ceiling: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Send it."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Leave it PENDING, and say why."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Skip:
    """End it as SKIPPED."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Cancel:
    """End it as CANCELLED."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Make room and hold the candidate: ask these to stop, cancel those, end the ones whose grace is over."""

    stop: tuple[UUID, ...] = ()
    cancel: tuple[UUID, ...] = ()
    force: tuple[UUID, ...] = ()


Decision = Publish | Hold | Skip | Cancel | Replace


def admit(run: Candidate, active: Sequence[ActiveRun], pool: PoolUsage | None, now: datetime) -> Decision:
    """What to do with `run` now; `active` are the routine's other active runs."""
    return (
        _judge_fresh(run, active)
        or _wait_for_time(run, now)
        or _wait_for_others(run, active, now)
        or _wait_for_room(pool)
        or Publish()
    )


def _judge_fresh(run: Candidate, active: Sequence[ActiveRun]) -> Decision | None:
    if not run.fresh or not active:
        return None
    if run.policy is ConcurrencyPolicy.FORBID:
        return Skip(Reason.OVERLAP)
    if run.policy is ConcurrencyPolicy.REPLACE:
        return _take_their_place(active)
    return None


def _take_their_place(active: Sequence[ActiveRun]) -> Replace | None:
    waiting = tuple(other.id for other in active if not other.running)
    unasked = _unasked(active)
    return Replace(stop=unasked, cancel=waiting) if unasked or waiting else None


def _wait_for_time(run: Candidate, now: datetime) -> Hold | None:
    if run.routine_paused and not run.manual:
        return Hold(Reason.PAUSED)
    return Hold(Reason.NOT_YET) if run.eligible_at > now else None


def _wait_for_others(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision | None:
    if run.policy is ConcurrencyPolicy.ALLOW:
        return None
    if run.policy is ConcurrencyPolicy.FORBID:
        # Only one can start: the messages of the others would be handed back, over and over.
        return Hold(Reason.OVERLAP) if any(other.running or other.sent for other in active) else None
    # A newer one that was asked to stop is on its way out, whatever the clocks of two machines made of their ids.
    if any(other.newer and other.stop_requested_at is None for other in active):
        return Cancel(Reason.REPLACED)
    return _take_their_place(active) or _wait_for_stopping(run, active, now)


def _wait_for_stopping(run: Candidate, running: Sequence[ActiveRun], now: datetime) -> Decision | None:
    if not running:
        return None
    if any(other.overdue for other in running):  # two bodies would run at once, whatever the rows said
        return Hold(Reason.OVERDUE)
    grace = timedelta(milliseconds=run.replace_grace_ms)
    over = tuple(o.id for o in running if o.stop_requested_at is not None and o.stop_requested_at + grace <= now)
    return Replace(force=over) if over else Hold(Reason.REPLACING)


def _wait_for_room(pool: PoolUsage | None) -> Hold | None:
    return Hold(Reason.CEILING) if pool is not None and pool.in_flight >= pool.ceiling else None


def _unasked(active: Sequence[ActiveRun]) -> tuple[UUID, ...]:
    # Asking twice would restart the grace of a run that is already on its way out.
    return tuple(other.id for other in active if other.running and other.stop_requested_at is None)
