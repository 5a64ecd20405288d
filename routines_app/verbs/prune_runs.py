"""Deleting old history now, instead of a little at a time by the beats."""

from __future__ import annotations

from collections.abc import Callable

from routines_app.protocol.ledger import clock
from routines_app.protocol.upkeep.prune import prune_once


def prune_runs(keep_days: float | None = None, *, progress: Callable[[int], None] | None = None) -> int:
    """Delete ended runs that are older than this many days, or than the setting KEEP_RUNS_DAYS, in batches.

    Returns how many there were; `progress` is told how many are gone so far.
    """
    deleted = 0
    while batch := prune_once(clock.now(), keep_days):
        deleted += batch
        if progress is not None:
            progress(deleted)
    return deleted
