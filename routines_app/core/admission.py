"""Admission: may this run go to the broker now? Every path asks it: schedule, run-now, retry, catch-up, backfill.

It decides time, status and overlap. A run that only needs room in its pool is held for that (`ceiling`), and
`core/room.py` decides who gets the room, because that is a question about many runs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, assert_never
from uuid import UUID

from routines_app.core.holding import HELD_AS
from routines_app.core.line import Place
from routines_app.core.words import ConcurrencyPolicy, Reason

LOOK_AGAIN = timedelta(seconds=1)  # at a run that waits for another; the end of that other run usually comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The PENDING run that asks to be published."""

    policy: ConcurrencyPolicy
    fresh: bool
    """It is being created now. Overlap is judged then; later it only waits."""
    place: Place
    """Where it stands among the routine's waiting runs; QUEUE asks for it."""
    eligible_at: datetime
    held: Reason | None = None
    """Why the routine's status holds it back (`core/holding.py`)."""
    pooled: bool = False
    replace_grace: timedelta = timedelta()
    """How long a run that was asked to stop is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRun:
    """Another run of the same routine that is PENDING or RUNNING."""

    id: UUID
    place: Place
    running: bool
    sent: bool = False
    """It is PENDING and was let through: it is on its way to a worker, or queues for room in its pool."""
    queues: bool = False
    """Of what is `sent`: it only queues for room, and nothing of it has begun."""
    waits: bool = False
    """It is held behind another run of the routine (`overlap`)."""
    held: bool = False
    """The routine's status holds it back: whoever that does not hold back need not wait for it."""
    newer: bool = False
    """It was created after the candidate."""
    stop_requested_at: datetime | None = None
    overdue: bool = False
    """Its body cannot be stopped and still runs."""


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
    """Make room: ask these to stop, cancel those, end the ones whose grace is over; then do that with the candidate."""

    stop: tuple[UUID, ...] = ()
    cancel: tuple[UUID, ...] = ()
    force: tuple[UUID, ...] = ()
    then: Publish | Hold


@dataclass(frozen=True, slots=True)
class Supersede:
    """End these slots as SKIPPED, because the candidate stands for them; then do that with the candidate."""

    waiting: tuple[UUID, ...]
    then: Publish | Hold


@dataclass(frozen=True, slots=True)
class Overtake:
    """Go before these, which leave their pool's queue and wait in line again; then do that with the candidate."""

    back: tuple[UUID, ...]
    then: Publish | Hold


Decision = Publish | Hold | Skip | Cancel | Replace | Supersede | Overtake


class Standing(NamedTuple):
    """Where a PENDING row stands on its way to the broker: the columns that admission decides."""

    admitted_at: datetime | None
    publish_after: datetime | None
    reason: Reason


def standing(decision: Publish | Hold, *, eligible_at: datetime, now: datetime, publish_retry: timedelta) -> Standing:
    """The decision as it is written. What is let through goes out at once, or by a beat after `publish_retry`."""
    if isinstance(decision, Hold):
        return Standing(None, _look_at(decision.reason, eligible_at, now), decision.reason)
    return Standing(now, now + publish_retry, Reason.NONE)


def _look_at(reason: Reason, eligible_at: datetime, now: datetime) -> datetime | None:
    """When a beat looks at a held run again; None where an event sets it: room in the pool, the end of a pause."""
    if reason is Reason.CEILING or reason in HELD_AS.values():
        return None
    return eligible_at if reason is Reason.NOT_YET else now + LOOK_AGAIN


def admit(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision:
    """What to do with `run` now; `active` are the routine's other active runs."""
    return (
        _judge_fresh(run, active, now)
        or _wait_in_line(run, active)
        or _wait_for_time(run, now)
        or _wait_for_others(run, active, now)
        or _go(run)
    )


def in_the_way(active: Sequence[ActiveRun]) -> UUID | None:
    """The one of the routine's other runs that blocks: what runs, else what is on its way, else the first in line."""
    first = min(active, key=lambda run: (not run.running, not run.sent, run.place), default=None)
    return None if first is None else first.id


def _judge_fresh(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision | None:
    if not run.fresh or not active:
        return None
    match run.policy:
        case ConcurrencyPolicy.ALLOW:
            return None
        case ConcurrencyPolicy.FORBID:
            return Skip(Reason.OVERLAP)
        case ConcurrencyPolicy.REPLACE:
            return _take_their_place(run, active, now)
        case ConcurrencyPolicy.QUEUE:
            return _join_line(run, active, now) if run.place.is_slot else _ask_in_line(run, active, now)
        case _:
            assert_never(run.policy)


def _join_line(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision:
    """A new slot stands for the one that waits, and waits in its stead, or goes if that was all there was."""
    passed = tuple(other.id for other in active if other.waits and other.place.is_slot)
    if _is_behind(run, [other for other in active if other.id not in passed]):
        then: Publish | Hold = Hold(Reason.OVERLAP)
    else:
        then = _wait_for_time(run, now) or _go(run)
    return Supersede(passed, then) if passed else then


def _ask_in_line(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision:
    """A request goes before the one slot that it finds in the queue of its pool.

    Not where more of them queue, as under another policy before, or a newer one waits: with one of them back in line
    there would be two, and no slot is skipped for a request.
    """
    queueing = [other for other in active if other.queues]
    alone = len(queueing) == 1 and not any(_is_unsent_slot(other) for other in active)
    overtaken = [other for other in queueing if alone and other.place.turn > run.place.turn]
    if _is_behind(run, [other for other in active if other not in overtaken]):
        return Hold(Reason.OVERLAP)
    then = _wait_for_time(run, now) or _go(run)
    return Overtake(tuple(other.id for other in overtaken), then) if overtaken else then


def _take_their_place(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Replace | None:
    waiting = tuple(other.id for other in active if not other.running)
    unasked = _unasked(active)
    if not unasked and not waiting:
        return None
    if any(other.running for other in active):
        return Replace(stop=unasked, cancel=waiting, then=Hold(Reason.REPLACING))
    return Replace(cancel=waiting, then=_wait_for_time(run, now) or _go(run))


def _wait_in_line(run: Candidate, active: Sequence[ActiveRun]) -> Hold | Skip | None:
    """QUEUE: who is behind others waits for them before its own time, so that at most one slot is seen waiting."""
    if run.policy is not ConcurrencyPolicy.QUEUE or run.held is not None or not _is_behind(run, active):
        return None
    # A pause, a hand-back or another policy may have left several: all of these but the newest are of no use.
    is_superseded = run.place.is_slot and any(_is_unsent_slot(other) and other.place > run.place for other in active)
    return Skip(Reason.SUPERSEDED) if is_superseded else Hold(Reason.OVERLAP)


def _is_behind(run: Candidate, active: Sequence[ActiveRun]) -> bool:
    return any(other.running or other.sent or (not other.held and other.place < run.place) for other in active)


def _is_unsent_slot(other: ActiveRun) -> bool:
    return other.place.is_slot and not (other.running or other.sent)


def _wait_for_time(run: Candidate, now: datetime) -> Hold | None:
    if run.held is not None:
        return Hold(run.held)
    return Hold(Reason.NOT_YET) if run.eligible_at > now else None


def _wait_for_others(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision | None:
    match run.policy:
        case ConcurrencyPolicy.ALLOW:
            return None
        case ConcurrencyPolicy.FORBID:
            # Only one can start: the messages of the others would be handed back, over and over.
            return Hold(Reason.OVERLAP) if any(other.running or other.sent for other in active) else None
        case ConcurrencyPolicy.REPLACE:
            return _replace_others(run, active, now)
        case ConcurrencyPolicy.QUEUE:
            return None  # it has waited in line, before its time
        case _:
            assert_never(run.policy)


def _replace_others(run: Candidate, active: Sequence[ActiveRun], now: datetime) -> Decision | None:
    # A newer one that was asked to stop is on its way out, whatever the clocks of two machines made of their ids.
    if any(other.newer and other.stop_requested_at is None for other in active):
        return Cancel(Reason.REPLACED)
    return _take_their_place(run, active, now) or _wait_for_stopping(run, active, now)


def _wait_for_stopping(run: Candidate, running: Sequence[ActiveRun], now: datetime) -> Decision | None:
    if not running:
        return None
    if any(other.overdue for other in running):  # two bodies would run at once, whatever the rows said
        return Hold(Reason.OVERDUE)
    # Who is just being created has not waited: it is judged again in a moment, and then it may end what is too late.
    over = () if run.fresh else tuple(other.id for other in running if _is_over_grace(run, other, now))
    if not over:
        return Hold(Reason.REPLACING)
    return Replace(force=over, then=_go(run) if len(over) == len(running) else Hold(Reason.REPLACING))


def _is_over_grace(run: Candidate, other: ActiveRun, now: datetime) -> bool:
    return other.stop_requested_at is not None and other.stop_requested_at + run.replace_grace <= now


def _go(run: Candidate) -> Publish | Hold:
    """Nothing holds it but, perhaps, its pool: only who holds the pool's lock may let it through."""
    return Hold(Reason.CEILING) if run.pooled else Publish()


def _unasked(active: Sequence[ActiveRun]) -> tuple[UUID, ...]:
    # Asking twice would restart the grace of a run that is already on its way out.
    return tuple(other.id for other in active if other.running and other.stop_requested_at is None)
