"""The plan of leases: what a look would do with each candidate, in the order of rank, and why. Values and sentences.

What is decided is decided elsewhere, by the functions that decide for a beat: firing, admission and room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from routines_app.core.room import PoolUsage, Queued, share_room
from routines_app.core.said import Moment, Said, said, said_of
from routines_app.core.words import Reason


class Verdict(StrEnum):
    """What becomes of a candidate."""

    START = "start"
    """It goes to the broker."""
    HOLD = "hold"
    """It waits, for its reason."""
    SKIP = "skip"
    """It ends without having run."""
    REPLACE = "replace"
    """It takes the place of another run of its routine, and goes as soon as that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseDecision:
    """One candidate, and what becomes of it."""

    position: int
    """Its place in the order of rank, from 1."""
    routine_id: int
    name: str
    run_id: UUID | None
    """None: a slot that no claim has written yet."""
    slot: datetime
    trigger: str
    pool: str | None
    verdict: Verdict
    reason: Reason
    why: str
    """The reason as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A candidate that another policy would treat otherwise. None: it does not exist under that one."""

    routine_id: int
    name: str
    slot: datetime
    now: Verdict | None
    then: Verdict | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePlan:
    """What a look at `now` would do. `truncated`: there are more candidates than were asked for or read."""

    now: datetime
    decisions: tuple[LeaseDecision, ...]
    differences: tuple[Difference, ...] = ()
    truncated: bool = False


def in_rank_order(queues: Sequence[Sequence[Queued]], now: datetime, *, depth_weight: float) -> list[UUID]:
    """All of these in the order of their rank. Each queue keeps the order that it has by itself.

    Depth counts from the shallowest that waits, so among others two runs may rank the other way round.
    """
    everybody = _ranked([run for queue in queues for run in queue], now, depth_weight)
    queue_of = {run.id: at for at, queue in enumerate(queues) for run in queue}
    own_order = [iter(_ranked(queue, now, depth_weight)) for queue in queues]
    return [next(own_order[queue_of[run_id]]) for run_id in everybody]


def _ranked(queue: Sequence[Queued], now: datetime, depth_weight: float) -> list[UUID]:
    return [placed.run.id for placed in share_room({}, queue, now, depth_weight=depth_weight)]


def differences(present: Sequence[LeaseDecision], changed: Sequence[LeaseDecision]) -> tuple[Difference, ...]:
    """What another policy would do otherwise: first in its own order, then what only the present one has."""
    before = {_key(decision): decision for decision in present}
    after = {_key(decision): decision for decision in changed}
    found = [
        _difference(before.get(key), decision)
        for key, decision in after.items()
        if key not in before or before[key].verdict is not decision.verdict
    ]
    return (*found, *(_gone(decision) for key, decision in before.items() if key not in after))


def _key(decision: LeaseDecision) -> object:
    return decision.run_id or (decision.routine_id, decision.slot)


def _difference(before: LeaseDecision | None, then: LeaseDecision) -> Difference:
    return Difference(
        routine_id=then.routine_id,
        name=then.name,
        slot=then.slot,
        now=None if before is None else before.verdict,
        then=then.verdict,
        why=then.why,
    )


def _gone(before: LeaseDecision) -> Difference:
    return Difference(
        routine_id=before.routine_id,
        name=before.name,
        slot=before.slot,
        now=before.verdict,
        then=None,
        why=said("it would not be a candidate"),
    )


STARTS = said("nothing holds it")
ON_ITS_WAY = said("it was let through and is on its way to the broker")
TURN_COMES = said("a missed slot before it is still being caught up")
FORGOTTEN = said("nothing holds it, and no moment is set: the upkeep lets it go")

HELD: Mapping[Reason, Said] = MappingProxyType(
    {
        Reason.NONE: said("its turn comes"),
        Reason.CEILING: said("its pool is full"),
        Reason.NOT_YET: said("its time has not come"),
        Reason.OVERLAP: said("another run of its routine is active"),
        Reason.PAUSED: said("its routine is paused"),
        Reason.PARKED: said("its routine is parked"),
        Reason.REPLACING: said("the run that it replaces has not stopped yet"),
        Reason.OVERDUE: said("the run that it replaces cannot be stopped, and still runs"),
        Reason.LEASE_HELD: said("a worker found the lease of its routine held"),
        Reason.KEY_TAKEN: said("a worker found another run of its routine running"),
        Reason.ROUTINE_HELD: said("a worker found the row of its routine held by somebody"),
        Reason.REDIS_AWAY: said("a worker could not reach Redis for its lease"),
        Reason.PUBLISH_FAILED: said("it could not be published"),
    }
)

SKIPPED: Mapping[Reason, Said] = MappingProxyType(
    {
        Reason.OVERLAP: said("another run of its routine is active"),
        Reason.MISFIRE: said("missed, and not caught up"),
        Reason.PAUSED: said("its routine was paused then"),
        Reason.PARKED: said("its routine would be parked"),
        Reason.EXPIRED: said("it is too old to be worth it"),
        Reason.SUPERSEDED: said("a newer slot or another schedule stands for it"),
        Reason.REPLACED: said("a newer run takes its place"),
        Reason.SHADOW: said("in shadow: its old scheduler fires it"),
    }
)


def held_because(reason: Reason, look_at: datetime | None = None) -> str:
    """Why it waits, and from when on a beat looks at it again."""
    text = HELD.get(reason, str(reason))
    return text if look_at is None else said("{why}; looked at again from {at}", why=text, at=_moment(look_at))


def skipped_because(reason: Reason, *, until: datetime | None = None, count: int = 1) -> str:
    """Why it does not run; a row that stands for many slots says how many."""
    text = SKIPPED.get(reason, str(reason))
    if until is None:
        return text
    return said_of(
        count, "{why}: {count} slot until {at}", "{why}: {count} slots until {at}", why=text, at=_moment(until)
    )


def has_room(pool: str, usage: PoolUsage) -> Said:
    return said(
        "there is room in pool {pool} ({in_flight} of {ceiling} in flight)",
        pool=pool,
        in_flight=usage.in_flight,
        ceiling=usage.ceiling,
    )


def is_full(pool: str, usage: PoolUsage, ahead: int) -> Said:
    """Why the pool does not let it in: who is in it, and who goes before it."""
    facts = {"pool": pool, "in_flight": usage.in_flight, "ceiling": usage.ceiling, "ahead": ahead}
    match bool(usage.ceiling), bool(ahead):
        case True, True:
            return said(
                "pool {pool} is full ({in_flight} of {ceiling} in flight, and {ahead} that wait go before it)", **facts
            )
        case True, False:
            return said("pool {pool} is full ({in_flight} of {ceiling} in flight)", **facts)
        case False, True:
            return said(
                "pool {pool} lets nothing start ({in_flight} of 0 in flight, and {ahead} that wait go before it)",
                **facts,
            )
    return said("pool {pool} lets nothing start ({in_flight} of 0 in flight)", **facts)


def replaces(count: int, then: str) -> Said:
    """What it takes the place of, and how it goes on."""
    return said_of(
        count,
        "it takes the place of {count} other run of its routine; {then}",
        "it takes the place of {count} other runs of its routine; {then}",
        then=then,
    )


def _moment(at: datetime) -> Moment:
    return Moment(at, UTC)
