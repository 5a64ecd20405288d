"""What old schedulers were seen to fire: written by their own process (`beat/old_beat.py`), read by the report and the
switch-over."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.models import Max

from routines_app.models import MovedEntry, OldFire
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.verbs.moving.old_entries import OldScheduler

READ_AT_ONCE = 500


class Fire(NamedTuple):
    """A message that an old scheduler has sent."""

    key: str
    task_id: str
    fired_at: datetime


def moved_keys(scheduler: OldScheduler, keys: Collection[str]) -> set[str]:
    """Which of these entries were moved."""
    moved = MovedEntry.objects.using(ledger_alias()).filter(scheduler=scheduler, key__in=keys)
    return set(moved.values_list("key", flat=True))


def record_fires(scheduler: OldScheduler, fires: Iterable[Fire]) -> None:
    """Write them down; one that is there already stays as it is."""
    rows = [OldFire(scheduler=scheduler, **fire._asdict()) for fire in fires]
    with bounded():
        OldFire.objects.using(ledger_alias()).bulk_create(rows, ignore_conflicts=True)


def last_fires(scheduler: str, keys: Collection[str]) -> dict[str, datetime]:
    """When each of the entries was last seen to fire."""
    fires = OldFire.objects.using(ledger_alias()).filter(scheduler=scheduler, key__in=keys)
    return dict(fires.order_by().values_list("key").annotate(last=Max("fired_at")))


def recorded_until() -> int:
    """A mark: what is recorded from now on comes after it, whatever the clock of the old beat says."""
    return OldFire.objects.using(ledger_alias()).aggregate(last=Max("pk"))["last"] or 0


def recorded_after(mark: int, entries: Iterable[MovedEntry]) -> int:
    """How many fires of these entries were recorded since."""
    moved = {(entry.scheduler, entry.key) for entry in entries}
    recorded = OldFire.objects.using(ledger_alias()).filter(pk__gt=mark).values_list("scheduler", "key")
    return sum(fire in moved for fire in recorded)
