"""Expiry: what counts as too old depends on why the run exists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app.core.expiry import is_expired
from routines_app.core.words import RunTrigger

SLOT = datetime(2024, 5, 1, 12, tzinfo=UTC)
ELIGIBLE = SLOT + timedelta(hours=5)
HOUR_MS = 3_600_000


@pytest.mark.parametrize("trigger", [RunTrigger.SCHEDULE, RunTrigger.HINT, RunTrigger.CATCH_UP, RunTrigger.MANUAL])
def test_a_runs_age_counts_from_its_slot(trigger: RunTrigger) -> None:
    """At the very end of its time it is too old, a moment before it is not."""
    end = SLOT + timedelta(hours=1)
    assert is_expired(trigger, SLOT, ELIGIBLE, HOUR_MS, end)
    assert not is_expired(trigger, SLOT, ELIGIBLE, HOUR_MS, end - timedelta(microseconds=1))


def test_a_backfills_age_counts_from_when_it_was_asked_for() -> None:
    """Its slot is long gone when it is made."""
    assert not is_expired(RunTrigger.BACKFILL, SLOT, ELIGIBLE, HOUR_MS, ELIGIBLE + timedelta(minutes=59))
    assert is_expired(RunTrigger.BACKFILL, SLOT, ELIGIBLE, HOUR_MS, ELIGIBLE + timedelta(hours=1))


def test_a_retry_does_not_expire() -> None:
    """The chain has begun and must end as what it is."""
    assert not is_expired(RunTrigger.RETRY, SLOT, ELIGIBLE, HOUR_MS, SLOT + timedelta(days=9))


@pytest.mark.parametrize("expires_ms", [None, 2**63 - 1])
def test_without_a_limit_nothing_expires(expires_ms: int | None) -> None:
    """A limit beyond the calendar, written by plain SQL, is none."""
    assert not is_expired(RunTrigger.SCHEDULE, SLOT, ELIGIBLE, expires_ms, SLOT + timedelta(days=9_999))
