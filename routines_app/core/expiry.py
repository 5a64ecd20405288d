"""Expiry: when a run that has not started is too old to be worth it."""

from __future__ import annotations

from datetime import datetime, timedelta

from routines_app.core.words import RunTrigger

FOREVER_MS = 100_000_000_000_000  # three thousand years: more would leave the calendar


def is_expired(
    trigger: str, scheduled_for: datetime, eligible_at: datetime, expires_ms: int | None, now: datetime
) -> bool:
    """Whether the run is older than `expires_ms`.

    A backfill is asked for long after its slot, so its age counts from when it might first have run. A retry belongs to
    a chain that has begun: it does not expire, because a failing chain must end as a failure.
    """
    if expires_ms is None or trigger == RunTrigger.RETRY:
        return False
    born = eligible_at if trigger == RunTrigger.BACKFILL else scheduled_for
    return now >= born + timedelta(milliseconds=min(expires_ms, FOREVER_MS))
