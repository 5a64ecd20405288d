"""What a run that has not begun waits for, as a reason and as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from routines_app.core.holding import held_as
from routines_app.core.room import PoolUsage
from routines_app.core.said import Coded, Moment, Said, said, together
from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.masks import masked_line

BEHIND = frozenset({Reason.OVERLAP, Reason.REPLACING, Reason.OVERDUE, Reason.LEASE_HELD, Reason.KEY_TAKEN})
"""Reasons of a run that waits for another run of its routine."""

STATUS: Mapping[str, Said] = {
    RoutineStatus.ACTIVE: said("the routine is active"),
    RoutineStatus.PAUSED: said("the routine is paused"),
    RoutineStatus.PARKED: said("the routine is parked"),
}


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


def why(run: Waiter, blocker: Blocker | None, now: datetime) -> Said:
    """What it waits for, as a sentence."""
    if run.routine_status == RoutineStatus.ARCHIVED:
        return said("its routine is archived: it is cancelled in a moment")
    if run.dispatched_at is not None:
        return _sent(run.queue, _at(run.dispatched_at))
    if run.admitted_at is not None:
        return said("let through at {at}: it is on its way to the broker", at=_at(run.admitted_at))
    return _held_by(run, reason_of(run, now), blocker)


def _sent(queue: str, at: Moment) -> Said:
    if queue:
        return said("sent to queue {queue} at {at}: no worker has begun it yet", queue=queue, at=at)
    return said("sent to the broker at {at}: no worker has begun it yet", at=at)


def _held_by(run: Waiter, reason: Reason, blocker: Blocker | None) -> Said:
    match reason:
        case Reason.PAUSED | Reason.PARKED:
            return _status(run)
        case Reason.NOT_YET:
            return _not_yet(run.attempt, _at(run.eligible_at))
        case Reason.CEILING:
            return _room(run)
        case Reason.OVERLAP:
            return said("behind {run}", run=_run(blocker))
        case Reason.REPLACING:
            return said("takes the place of {run}, when that has ended", run=_run(blocker))
        case Reason.OVERDUE:
            return said("behind {run}, whose body cannot be stopped", run=_run(blocker))
        case Reason.LEASE_HELD | Reason.KEY_TAKEN:
            return said("behind {run}, which holds the routine's lease", run=_run(blocker))
        case Reason.PUBLISH_FAILED:
            return _because(_again(run, said("it could not be sent")), run.error)
        case Reason.REDIS_AWAY:
            return _again(run, said("Redis could not be reached, and its lease is there"))
        case Reason.ROUTINE_HELD:
            return _again(run, said("somebody holds the routine's row in the database"))
        case Reason.NONE:
            return said("a beat looks at it in a moment")
        case _:
            return _again(run, said("it waits ({reason})", reason=reason))


def _status(run: Waiter) -> Said:
    held = STATUS.get(run.routine_status) or said("the routine is {status}", status=Coded(run.routine_status))
    if run.paused_until is not None:
        held = said("{held} until {at}", held=held, at=_at(run.paused_until))
    return _because(held, run.pause_reason)


def _because(held: Said, text: str) -> Said:
    """With what a person or the broker has said of it, which is not ours to translate."""
    return together(": ", [held, masked_line(text)]) if text else held


def _not_yet(attempt: int, at: Moment) -> Said:
    if attempt > 1:
        return said("attempt {attempt} is not to begin before {at}", attempt=attempt, at=at)
    return said("it is not to begin before {at}", at=at)


def _room(run: Waiter) -> Said:
    if run.usage is None:
        return said("for room in pool {pool}", pool=run.pool)
    facts = {"pool": run.pool, "in_flight": run.usage.in_flight, "ceiling": run.usage.ceiling}
    if run.usage.room:
        return said(
            "pool {pool} has room ({in_flight} of {ceiling}): a beat lets the first in its queue go in a moment",
            **facts,
        )
    if not run.usage.ceiling:
        return said("pool {pool} lets nothing start: its ceiling is 0, and {in_flight} are in flight", **facts)
    return said("pool {pool} is full ({in_flight} of {ceiling})", **facts)


def _run(blocker: Blocker | None) -> Said:
    if blocker is None:
        return said("another run of its routine, which has just ended")
    if blocker.in_line:
        return said("run {id}, which is before it in line", id=str(blocker.run_id))
    if blocker.status != RunStatus.RUNNING:
        return said("run {id}, which has not begun", id=str(blocker.run_id))
    return _running(str(blocker.run_id), blocker)


def _running(run_id: str, blocker: Blocker) -> Said:
    if blocker.since is None:
        if blocker.stop_requested:
            return said("run {id}, which runs and was asked to stop", id=run_id)
        return said("run {id}, which runs", id=run_id)
    if blocker.stop_requested:
        return said("run {id}, which runs since {at} and was asked to stop", id=run_id, at=_at(blocker.since))
    return said("run {id}, which runs since {at}", id=run_id, at=_at(blocker.since))


def _again(run: Waiter, held: Said) -> Said:
    if run.publish_after is None:
        return held
    return said("{held}, and is tried again at {at}", held=held, at=_at(run.publish_after))


def _at(moment: datetime) -> Moment:
    return Moment(moment, UTC)
