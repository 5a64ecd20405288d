"""Two schedulers side by side: which fire of the old one stands for which slot of ours.

A fire never comes before its slot by the clock of the scheduler that fires it, so a cron's fire belongs to the last
slot before it. The intervals of Celery's schedulers count from their last fire and slide a little with each, so theirs
are paired with ours in their order, as long as they have not slid by nearly an interval: then one of ours has no fire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.triggers import IntervalTrigger, Trigger

EARLIEST = timedelta(milliseconds=500)  # a clock that was set back between the decision and the record
LATEST = timedelta(minutes=10)  # behind a cron's slot; a schedule read in another timezone is later than that
NEARLY = 0.9  # of an interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a fire may be from its slot. `until_next`: and it belongs to a later slot as soon as there is one."""

    early: timedelta
    late: timedelta
    until_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A slot of ours and a fire of the old scheduler that stands for it; or one of the two alone."""

    slot: datetime | None
    fired_at: datetime | None

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
        return Tolerance(early=interval / 2, late=interval * NEARLY, until_next=False)
    return Tolerance(early=EARLIEST, late=LATEST, until_next=True)


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
            yield Compared(slot=slot, fired_at=None)
    for fire in fires[at:]:
        yield Compared(slot=None, fired_at=fire)


def _belongs(fire: datetime, slot: datetime, following: datetime | None, tolerance: Tolerance) -> bool:
    if fire - slot > tolerance.late:
        return False
    return not tolerance.until_next or following is None or fire < following - tolerance.early


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
