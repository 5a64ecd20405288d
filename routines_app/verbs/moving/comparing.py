"""The next fires of an entry and of what it becomes, side by side; and where they differ, why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab, schedule

from routines_app.core.errors import RoutineError
from routines_app.core.triggers import CronTrigger, Trigger, next_slot
from routines_app.core.zones import clock_changes, offset_at, zone_of
from routines_app.verbs.moving.celery_options import MILLISECOND
from routines_app.verbs.moving.old_entries import OldEntry
from routines_app.verbs.moving.old_fires import MOST, OldFires

Fires = tuple[datetime, ...]
NEAR_A_CHANGE = timedelta(hours=3)  # clocks change by up to two hours, and a schedule may fire hourly
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class FireDifference:
    """A fire that only one of the two has, or that they have at different moments."""

    old: datetime | None
    ours: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What two computations say, which share nothing."""

    compared: int
    """How many fires of the old scheduler were looked at."""
    first: datetime | None
    """Its next one."""
    differences: tuple[FireDifference, ...] = ()


def compare(entry: OldEntry, old: OldFires, trigger: Trigger, now: datetime) -> Comparison:
    """The old fires beside the slots of the trigger up to the last of them."""
    theirs, ours = _same_stretch(old.fires, tuple(islice(_slots(trigger, now), MOST)))
    rows = tuple(
        FireDifference(old=old_one, ours=own, reason=_reason(entry, trigger, old_one, own))
        for old_one, own in _unequal(theirs, ours)
    )
    return Comparison(compared=len(old.fires), first=old.first, differences=rows)


def _slots(trigger: Trigger, now: datetime) -> Iterator[datetime]:
    slot = next_slot(trigger, now)
    while slot is not None:
        yield slot
        slot = next_slot(trigger, slot)


def _same_stretch(old: Fires, ours: Fires) -> tuple[Fires, Fires]:
    """Of two that go on only what is before both cuts: behind one of them the other would seem to stand alone."""
    if len(old) < MOST or len(ours) < MOST:
        return old, ours
    until = min(old[-1], ours[-1])
    return tuple(at for at in old if at <= until), tuple(at for at in ours if at <= until)


def _unequal(old: Fires, ours: Fires) -> Iterator[tuple[datetime | None, datetime | None]]:
    """What only one of them has, in order; two that stand alone and are near each other are one that has moved."""
    theirs, own = [at for at in old if at not in set(ours)], [at for at in ours if at not in set(old)]
    while theirs and own:
        if abs(theirs[0] - own[0]) <= NEAR_A_CHANGE:
            yield theirs.pop(0), own.pop(0)
        elif theirs[0] < own[0]:
            yield theirs.pop(0), None
        else:
            yield None, own.pop(0)
    yield from ((at, None) for at in theirs)
    yield from ((None, at) for at in own)


def _reason(entry: OldEntry, trigger: Trigger, old: datetime | None, ours: datetime | None) -> str:
    """Why, as far as that can be derived."""
    at = old or ours
    if at is not None and isinstance(trigger, CronTrigger) and (change := _change_near(trigger, at)) is not None:
        return _of_change(zone_of(trigger.timezone), change, old, ours)
    if isinstance(entry.schedule, schedule):
        interval: Any = entry.schedule  # whose stubs are incomplete
        if interval.run_every % MILLISECOND:
            return "its interval is no whole number of milliseconds"
        if interval.relative:
            return "Celery rounds a relative interval to its unit on the wall clock; ours is elapsed time"
    if type(entry.schedule).__module__.split(".")[0] not in ("celery", "django_celery_beat", "redbeat"):
        return f"its schedule is of a class of the project's own, {type(entry.schedule).__qualname__}"
    if isinstance(entry.schedule, crontab) and entry.start_at is not None:
        return "its start time"
    return "not known"


def _change_near(trigger: CronTrigger, at: datetime) -> datetime | None:
    try:
        zone = zone_of(trigger.timezone)
    except RoutineError:
        return None
    found = clock_changes(zone, at - NEAR_A_CHANGE, at + NEAR_A_CHANGE)
    return found[0] if found else None


def _of_change(zone: ZoneInfo, change: datetime, old: datetime | None, ours: datetime | None) -> str:
    when = f"clocks in {zone.key} change at {change.astimezone(zone):%Y-%m-%d %H:%M %Z}"
    if offset_at(change, zone) > offset_at(change - SECOND, zone):
        return f"{when}: ours fires as soon as the gap is over, Celery an hour after the time that it swallows"
    if old is None:
        return (
            f"{when}: what begins with a star is elapsed time, also through the repeated hour, which Celery leaves out"
        )
    if ours is None:
        return f"{when}: a time that comes twice fires the first time; Celery fires it at this one too"
    return f"{when}: Celery takes the other of two equal times on the wall"
