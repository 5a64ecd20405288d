"""Rotations: which of many members is picked, and what an attempt makes of it.

A member is OWED, IN_FLIGHT, FRESH until its time is over, or FAILED until enough ticks have passed. A cycle runs its
phases one after another; a member that is in the middle of one goes before all that would begin one.

Rank goes by how long a member has *waited*: since its last attempt, however that ended. How *stale* it is, since its
last whole cycle, is what people watch; it ranks nobody, else one that always fails would take every tick.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.keys import EPOCH
from routines_app.core.ranking import Waiting, effective_staleness
from routines_app.core.words import MemberStatus, Priority, RunStatus

TICK_TASK = "routines.rotate"
"""The task of a rotation's own routine: its slots are ticks. What it does on a worker is to seed."""
SEEDING = "seed"
"""The phase of the rotation's own run that seeds; no phase of a member's is called so."""
MOST_BUDGET = 1_000  # of one tick: it is one transaction, and others wait for what it has locked
MOST_IDLE = 4
MOST_WAIT_TICKS = 16
CHRONIC_FAILURES = 4  # from which on it waits longest
MOST_FRESH = timedelta(days=36_500)  # for ever, as far as anybody waits; and no calendar ends before it is over
NEVER = EPOCH
"""The last attempt of a member that had none: longer ago than anybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """An owed member, as far as rank asks."""

    id: int
    phase: int
    """That it ranks by: see `rank_phase`."""
    band: int
    depth: int
    emphasis: float
    attempted_at: datetime


def pick(owed: Iterable[Owed], most: int, now: datetime, depth_weight: float) -> list[Owed]:
    """The highest-ranked, at most so many: later phases, higher priority bands, then who was tried longest ago.

    Depth counts from the shallowest that is owed in the same phase and band.
    """
    waiting = list(owed)
    least: dict[tuple[int, int], int] = {}
    for member in waiting:
        key = (member.phase, member.band)
        least[key] = min(least.get(key, member.depth), member.depth)
    ranked = sorted(waiting, key=lambda member: rank_of(member, least[member.phase, member.band], now, depth_weight))
    return ranked[: max(0, most)]


def rank_of(
    member: Owed, least_depth: int, now: datetime, depth_weight: float
) -> tuple[int, int, float, datetime, int]:
    """Smaller goes first. Depth lengthens what it has waited as it lengthens staleness in a pool."""
    waited = effective_staleness(
        Waiting(
            id=str(member.id),
            priority=Priority.MEDIUM,
            stale_seconds=(now - member.attempted_at).total_seconds(),
            depth=member.depth,
            least_depth=least_depth,
            emphasis=member.emphasis,
            eligible_at=member.attempted_at,
            depth_weight=depth_weight,
        )
    )
    return -member.phase, member.band, -waited, member.attempted_at, member.id


def rank_phase(phase: int, failures: int) -> int:
    """The phase that a member ranks by: its next one, and the first once that has failed too often.

    Else every member that always fails in a later phase would take a sixteenth of the ticks before anything is begun,
    and sixteen of them all.
    """
    return phase if failures < CHRONIC_FAILURES else 0


def room(*, budget: int, max_in_flight: int, in_flight: int) -> int:
    """How many members a tick may pick; never more than MOST_BUDGET, whatever an edit by plain SQL says."""
    return max(0, min(budget, MOST_BUDGET, max_in_flight - in_flight))


@dataclass(frozen=True, slots=True)
class Idle:
    """How a rotation idles: of so many ticks one looks, and so many are left out before the next one does."""

    multiplier: int
    skip_ticks: int


AWAKE = Idle(1, 0)


def idle_after(multiplier: int) -> Idle:
    """Nothing was owed: the next look comes after twice as many ticks, at most four."""
    doubled = min(MOST_IDLE, max(1, multiplier) * 2)
    return Idle(doubled, doubled - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What an attempt has made of a member."""

    status: MemberStatus
    phase: int
    failures: int
    due_at: datetime | None = None
    retry_tick: int | None = None
    cycle_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The end of a member's run, and what it is judged by."""

    status: RunStatus
    phase: int
    phases: int
    failures: int
    ticks: int
    """How many the rotation has had."""
    fresh_for: timedelta
    now: datetime


def progress_of(attempt: Attempt) -> Progress:
    """Success goes on in the cycle, failure waits 2^failures ticks; what somebody stopped is owed still.

    What expired before any worker took it waits like a failure: in a later phase it would be the next tick's again, and
    so take every tick.
    """
    match attempt.status:
        case RunStatus.SUCCESS if attempt.phase + 1 < attempt.phases:
            return Progress(status=MemberStatus.OWED, phase=attempt.phase + 1, failures=0)
        case RunStatus.SUCCESS:
            due_at = attempt.now + min(attempt.fresh_for, MOST_FRESH)
            return Progress(status=MemberStatus.FRESH, phase=0, failures=0, due_at=due_at, cycle_ended=True)
        case RunStatus.FAILED | RunStatus.SKIPPED:
            failures = attempt.failures + 1
            again = attempt.ticks + wait_ticks(failures)
            return Progress(status=MemberStatus.FAILED, phase=attempt.phase, failures=failures, retry_tick=again)
        case _:
            return Progress(status=MemberStatus.OWED, phase=attempt.phase, failures=attempt.failures)


def wait_ticks(failures: int) -> int:
    """How many ticks a member waits that has failed so often in a row."""
    return int(min(MOST_WAIT_TICKS, 2 ** min(failures, MOST_WAIT_TICKS)))
