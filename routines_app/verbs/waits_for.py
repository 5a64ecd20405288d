"""What a run that has not begun waits for, as a reason and as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from routines_app.core.holding import held_as
from routines_app.core.room import PoolUsage
from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.masks import masked_line

BEHIND = frozenset({Reason.OVERLAP, Reason.REPLACING, Reason.OVERDUE, Reason.LEASE_HELD, Reason.KEY_TAKEN})
"""Reasons of a run that waits for another run of its routine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocker:
    """The run that another one waits for."""

    run_id: UUID
    status: str
    since: datetime | None
    stop_requested: bool
    in_line: bool
    """It waits too, and goes first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiter:
    """A run that has not begun, and what there is to know about its waiting."""

    reason: str
    """As it stands on the row."""
    routine_status: str
    paused_until: datetime | None
    pause_reason: str
    pool: str | None
    usage: PoolUsage | None
    queue: str
    attempt: int
    requested_at: datetime | None
    eligible_at: datetime
    admitted_at: datetime | None
    dispatched_at: datetime | None
    publish_after: datetime | None
    error: str


def reason_of(run: Waiter, now: datetime) -> Reason:
    """What it waits for now; the row may still say what it waited for when somebody last looked. None: it is sent."""
    if run.dispatched_at is not None or run.admitted_at is not None:
        return Reason.NONE
    held = held_as(run.routine_status, run.requested_at)
    if held is not None:
        return held
    if run.eligible_at > now and run.reason in (Reason.NONE, Reason.NOT_YET, Reason.CEILING, *held_reasons()):
        return Reason.NOT_YET
    if run.pool is not None and run.publish_after is None:
        return Reason.CEILING
    return Reason(run.reason) if run.reason in set(Reason) else Reason.NONE


def held_reasons() -> tuple[Reason, ...]:
    """Reasons that a status gave: when it holds the run no longer, they say nothing any more."""
    return (Reason.PAUSED, Reason.PARKED)


def why(run: Waiter, blocker: Blocker | None, now: datetime) -> str:
    """What it waits for, as a sentence."""
    if run.routine_status == RoutineStatus.ARCHIVED:
        return "its routine is archived: it is cancelled in a moment"
    if run.dispatched_at is not None:
        return f"sent to {_queue(run)} at {_at(run.dispatched_at)}: no worker has begun it yet"
    if run.admitted_at is not None:
        return f"let through at {_at(run.admitted_at)}: it is on its way to the broker"
    return _held_by(run, reason_of(run, now), blocker)


def _held_by(run: Waiter, reason: Reason, blocker: Blocker | None) -> str:
    match reason:
        case Reason.PAUSED | Reason.PARKED:
            return _status(run)
        case Reason.NOT_YET:
            what = f"attempt {run.attempt} is not to begin" if run.attempt > 1 else "it is not to begin"
            return f"{what} before {_at(run.eligible_at)}"
        case Reason.CEILING:
            return _room(run)
        case Reason.OVERLAP:
            return f"behind {_run(blocker)}"
        case Reason.REPLACING:
            return f"takes the place of {_run(blocker)}, when that has ended"
        case Reason.OVERDUE:
            return f"behind {_run(blocker)}, whose body cannot be stopped"
        case Reason.LEASE_HELD | Reason.KEY_TAKEN:
            return f"behind {_run(blocker)}, which holds the routine's lease"
        case Reason.PUBLISH_FAILED:
            error = f": {masked_line(run.error)}" if run.error else ""
            return f"it could not be sent{_again(run)}{error}"
        case Reason.REDIS_AWAY:
            return f"Redis could not be reached, and its lease is there{_again(run)}"
        case Reason.ROUTINE_HELD:
            return f"somebody holds the routine's row in the database{_again(run)}"
        case Reason.NONE:
            return "a beat looks at it in a moment"
        case _:
            return f"it waits ({reason}){_again(run)}"


def _status(run: Waiter) -> str:
    until = "" if run.paused_until is None else f" until {_at(run.paused_until)}"
    because = f": {masked_line(run.pause_reason)}" if run.pause_reason else ""
    return f"the routine is {run.routine_status.lower()}{until}{because}"


def _room(run: Waiter) -> str:
    if run.usage is None:
        return f"for room in pool {run.pool}"
    used = f"({run.usage.in_flight} of {run.usage.ceiling})"
    if run.usage.room:
        return f"pool {run.pool} has room {used}: a beat lets the first in its queue go in a moment"
    if not run.usage.ceiling:
        return f"pool {run.pool} lets nothing start: its ceiling is 0, and {run.usage.in_flight} are in flight"
    return f"pool {run.pool} is full {used}"


def _run(blocker: Blocker | None) -> str:
    if blocker is None:
        return "another run of its routine, which has just ended"
    if blocker.in_line:
        return f"run {blocker.run_id}, which is before it in line"
    if blocker.status != RunStatus.RUNNING:
        return f"run {blocker.run_id}, which has not begun"
    asked = " and was asked to stop" if blocker.stop_requested else ""
    return f"run {blocker.run_id}, which runs" + (f" since {_at(blocker.since)}" if blocker.since else "") + asked


def _again(run: Waiter) -> str:
    return "" if run.publish_after is None else f", and is tried again at {_at(run.publish_after)}"


def _queue(run: Waiter) -> str:
    return f"queue {run.queue}" if run.queue else "the broker"


def _at(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
