"""When an old scheduler would send an entry, by its own computation.

Its own schedule object is asked, with a clock that stands where we want it. That is what the beat of each of them does,
but for the milliseconds by which it is late: an interval is then counted from when it was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from celery.schedules import crontab

from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler

MOST = 50  # fires that are compared


class OldFires(NamedTuple):
    """What is to come of an entry."""

    overdue_since: datetime | None
    """It is sent as soon as a beat looks, because it should have been sent then. None: it is not overdue."""
    fires: tuple[datetime, ...]
    """When it is sent after that, at most `MOST` of them."""

    @property
    def first(self) -> datetime | None:
        return self.fires[0] if self.fires else None


def old_fires(entry: OldEntry, now: datetime, most: int = MOST) -> OldFires:
    """The fires of an entry that is enabled, from now on."""
    overdue = _overdue_since(entry, now)
    if overdue is not None and is_once(entry):
        return OldFires(overdue, ())
    return OldFires(overdue, tuple(islice(_fires(entry, now, overdue), 1 if is_once(entry) else most)))


def is_once(entry: OldEntry) -> bool:
    return entry.one_off or clocked_time(entry) is not None


def clocked_time(entry: OldEntry) -> datetime | None:
    """Of django-celery-beat's clocked schedules: the moment."""
    found = getattr(entry.schedule, "clocked_time", None)
    return found if isinstance(found, datetime) else None


def is_due_at_once(entry: OldEntry) -> bool:
    """redbeat sends an entry as soon as it looks when it knows no last run of it."""
    return entry.scheduler == OldScheduler.REDBEAT and entry.enabled and entry.last_run_at is None


def next_fire(schedule: Any, after: datetime) -> datetime | None:
    """What the schedule says when it was last sent at that moment; None: never again.

    Beats hand that over in the app's timezone, and a relative interval rounds in it. Sums are in UTC: in a zone whose
    clocks change they would be sums on the wall.
    """
    last = after.astimezone(getattr(schedule, "tz", UTC))
    remaining = _standing_at(schedule, last).remaining_estimate(last)
    return None if remaining is None else after.astimezone(UTC) + remaining


def _standing_at(schedule: Any, now: datetime) -> Any:
    """A copy whose clock stands. Not by `copy`: schedules reduce themselves to what they pickle, without their app."""
    copied = object.__new__(type(schedule))
    vars(copied).update(vars(schedule), nowfun=lambda: now)
    return copied


def _overdue_since(entry: OldEntry, now: datetime) -> datetime | None:
    """Nobody sends it before its start, nor at its end or later, nor while it is disabled."""
    if not entry.enabled or (entry.start_at is not None and entry.start_at > now) or _is_over(entry, now):
        return None
    if is_due_at_once(entry):
        return None if isinstance(entry.schedule, crontab) else now
    due = clocked_time(entry) or next_fire(entry.schedule, _counted_from(entry, now))
    if due is None or due > now:
        return None
    return due if entry.start_at is None else max(due, entry.start_at)


def _fires(entry: OldEntry, now: datetime, overdue: datetime | None) -> Iterator[datetime]:
    fire = _first_fire(entry, now, overdue)
    while fire is not None and not _is_over(entry, fire):
        yield fire
        following = next_fire(entry.schedule, fire)
        if following is not None and following <= fire:
            return  # a schedule of somebody's own that stands still
        fire = following


def _first_fire(entry: OldEntry, now: datetime, overdue: datetime | None) -> datetime | None:
    if (at := clocked_time(entry)) is not None:
        return at.astimezone(UTC)
    if overdue is not None:
        return next_fire(entry.schedule, now)
    if entry.start_at is not None and entry.start_at > now:
        return _first_from_start(entry, entry.start_at.astimezone(UTC), now)
    return next_fire(entry.schedule, _counted_from(entry, now))


def _counted_from(entry: OldEntry, now: datetime) -> datetime:
    """What is disabled counts from when it will be enabled again: now, for a comparison."""
    found = (entry.last_run_at or entry.counts_from) if entry.enabled else None
    return (found or now).astimezone(UTC)


def _first_from_start(entry: OldEntry, start_at: datetime, now: datetime) -> datetime | None:
    """django-celery-beat looks again at the start: a crontab is due at its first time after it, others are overdue."""
    if isinstance(entry.schedule, crontab):
        return next_fire(entry.schedule, start_at)
    due = next_fire(entry.schedule, _counted_from(entry, now)) if entry.last_run_at else start_at
    return None if due is None else max(due, start_at)


def _is_over(entry: OldEntry, at: datetime) -> bool:
    return entry.ends_before is not None and at >= entry.ends_before
