"""Two schedulers side by side: which fire of the old one stands for which slot of ours.

A fire never comes before its slot by the clock of the scheduler that fires it, so a cron's fire belongs to the last
slot before it. The intervals of Celery's schedulers count from their last fire and slide a little with each, so theirs
are paired with ours in their order. When they have slid by more than half an interval, a slot of ours has no fire: it
has slid past, if the fires around it are an interval apart, and nobody has lost one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.triggers import IntervalTrigger, Trigger

EARLIEST = timedelta(milliseconds=500)  # a clock that was set back between the decision and the record
LATEST = timedelta(minutes=10)  # behind a cron's slot; a schedule read in another timezone is later than that
OF_AN_INTERVAL = 0.6  # more than half: fires halfway between two slots must not change sides all the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a fire may be from its slot."""

    early: timedelta
    late: timedelta
    apart: timedelta | None
    """Fires that are less than this apart have none missing between them. None: as soon as there is a later slot that a
    fire may belong to, it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A slot of ours and a fire of the old scheduler that stands for it; or one of the two alone."""

    slot: datetime | None
    fired_at: datetime | None
    slid: bool = False
    """A slot without a fire, and none is missing."""

    @property
    def at(self) -> datetime:
        """Its place in the order of the report."""
        moment = self.slot or self.fired_at
        if moment is None:
            raise ValueError("neither a slot nor a fire")
        return moment

    @property
    def lateness(self) -> timedelta | None:
        """How long after its slot the old scheduler fired; None when only one of them did."""
        return None if self.slot is None or self.fired_at is None else self.fired_at - self.slot


def tolerance_of(trigger: Trigger) -> Tolerance:
    """What is one fire to a person who looks at both."""
    if isinstance(trigger, IntervalTrigger):
        interval = timedelta(milliseconds=trigger.interval_ms)
        return Tolerance(early=interval * OF_AN_INTERVAL, late=interval * OF_AN_INTERVAL, apart=interval * 1.5)
    return Tolerance(early=EARLIEST, late=LATEST, apart=None)


def compare(slots: Sequence[datetime], fires: Sequence[datetime], tolerance: Tolerance) -> Iterator[Compared]:
    """Pair them, each once at most and in their order. Both are sorted; each ends up in exactly one."""
    at = 0
    for place, slot in enumerate(slots):
        following = slots[place + 1] if place + 1 < len(slots) else None
        while at < len(fires) and fires[at] < slot - tolerance.early:
            yield Compared(slot=None, fired_at=fires[at])
            at += 1
        if at < len(fires) and _belongs(fires[at], slot, following, tolerance):
            yield Compared(slot=slot, fired_at=fires[at])
            at += 1
        else:
            around = fires[max(at - 1, 0) : at + 1]
            yield Compared(slot=slot, fired_at=None, slid=_have_slid(around, tolerance))
    for fire in fires[at:]:
        yield Compared(slot=None, fired_at=fire)


def _belongs(fire: datetime, slot: datetime, following: datetime | None, tolerance: Tolerance) -> bool:
    if fire - slot > tolerance.late:
        return False
    return tolerance.apart is not None or following is None or fire < following - tolerance.early


def _have_slid(around: Sequence[datetime], tolerance: Tolerance) -> bool:
    """Whether there is a fire before and one after, and no room for another between them."""
    if tolerance.apart is None or len(around) < 2:
        return False
    return around[1] - around[0] < tolerance.apart


def goes_on_from(trigger: Trigger, last_fire: datetime, known_since: datetime) -> datetime:
    """After which moment slots are ours, when the old scheduler's last fire was then and it was moved at `known_since`.

    A cron's slots from before that were never ours. An interval goes on from the fire itself, by whole intervals.
    """
    if last_fire >= known_since:
        return last_fire
    if not isinstance(trigger, IntervalTrigger):
        return known_since
    interval = timedelta(milliseconds=trigger.interval_ms)
    return last_fire + (known_since - last_fire) // interval * interval


def stands_until(trigger: Trigger, last_fire: datetime) -> datetime:
    """Up to which moment slots of ours are those that the old scheduler has fired."""
    if isinstance(trigger, IntervalTrigger):
        return last_fire + timedelta(milliseconds=trigger.interval_ms) / 2
    return last_fire
