"""Deleting old history now, instead of a little at a time by the beats."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Max, QuerySet
from django.db.models.fields.json import KeyTextTransform

from routines_app.conf import get_settings
from routines_app.core.keys import EPOCH
from routines_app.models import ChangeKind, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.upkeep.prune import Sweep

EVERY_ROUTINE = "(all routines)"
_BEFORE = "runs_before"


def prune_runs(keep_days: float | None = None, *, progress: Callable[[int], None] | None = None) -> int:
    """Delete ended runs that are older than this many days, or than the setting KEEP_RUNS_DAYS, in batches.

    Returns how many there were; `progress` is told how many are gone so far. Runs that rows of the project refer to,
    in a way that forbids it, stay.
    """
    now, sweep, deleted = clock.now(), Sweep(), 0
    while (batch := _delete_batch(sweep, now, keep_days, first=not deleted)) is not None:
        deleted += batch
        if progress is not None and batch:
            progress(deleted)
    return deleted


def _delete_batch(sweep: Sweep, now: datetime, keep_days: float | None, *, first: bool) -> int | None:
    """With the first one goes what the history says about all: whoever dies after it leaves none that are missed."""
    if keep_days is None or not first:
        return sweep.once(now, keep_days)
    with transaction.atomic(using=ledger_alias()):
        batch = sweep.once(now, keep_days)
        if batch:
            _record(now, now - timedelta(days=keep_days))
    return batch


def pruned_before(now: datetime) -> datetime:
    """Ended runs that are older may be gone: by the setting, or because somebody asked for it."""
    keep_days = get_settings().keep_runs_days
    by_setting = now - timedelta(days=keep_days) if 0 < keep_days < (now - EPOCH) / timedelta(days=1) else EPOCH
    asked = _history().filter(routine=None, kind=ChangeKind.DELETED, routine_name=EVERY_ROUTINE)
    latest = asked.aggregate(latest=Max(KeyTextTransform(_BEFORE, "after")))["latest"]
    return by_setting if latest is None else max(by_setting, datetime.fromisoformat(latest))


def _record(now: datetime, before: datetime) -> None:
    """In the history, which outlives the runs: the audit does not miss what was taken away on purpose."""
    # One zone and one length: as texts they are in the order of time.
    after = {_BEFORE: before.astimezone(UTC).isoformat(timespec="microseconds")}
    _history().create(routine_name=EVERY_ROUTINE, kind=ChangeKind.DELETED, at=now, after=after)


def _history() -> QuerySet[ScheduleChange]:
    return ScheduleChange.objects.using(ledger_alias())
