"""Runs in buckets: counted by what became of them, and measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from routines_app.admin.run_buckets import READ_PER_BUCKET, Row, bucketed, slots_within
from routines_app.core.keys import uuid7_int

START = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
EDGES = [START + place * HOUR for place in range(5)]


def run(minute: float, status: str = "SUCCESS", *, number: int = 0, took: float | None = 2, **fields: Any) -> Row:
    at = START + timedelta(minutes=minute)
    pk = UUID(int=uuid7_int(int(at.timestamp() * 1000), number))
    return Row(**({"id": pk, "chain": None, "attempt": 1, "status": status, "took": took, "late": 0.0} | fields))


def test_runs_are_counted_where_they_were_created() -> None:
    """Each bucket has its own, and one without runs has nothing to tell."""
    found = bucketed([run(10), run(20), run(70, "FAILED"), run(239)], EDGES)
    assert [bucket.counts for bucket in found] == [{"success": 2}, {"failed": 1}, {}, {"success": 1}]
    assert [bucket.durations is None for bucket in found] == [False, False, True, False]
    assert [(bucket.begin, bucket.end) for bucket in found] == list(pairwise(EDGES))


def test_an_attempt_that_was_followed_by_another_is_no_failure() -> None:
    """Its slot fails with its last attempt, or not at all."""
    first = run(10, "FAILED")
    given_up = run(20, "FAILED", number=1)
    later = [run(15, attempt=2, chain=first.id), run(75, "FAILED", attempt=2, chain=given_up.id)]
    counts = [bucket.counts for bucket in bucketed([first, given_up, *later], EDGES)]
    assert counts[:2] == [{"success": 1, "retried": 2}, {"failed": 1}]


def test_lengths_are_told_as_quantiles() -> None:
    """The middle one and that of the 95th per cent, of all that started."""
    (bucket, *_) = bucketed([run(n / 10, number=n, took=n) for n in range(101)], EDGES)
    assert bucket.durations == (50, 95)
    assert bucket.lateness == (0, 0)


def test_a_row_that_stands_for_many_slots_counts_where_they_lie() -> None:
    """Four slots an hour from half past eight on; what lies before the window is not in it."""
    span = {"scheduled_for": START + HOUR / 2, "scheduled_until": START + 2.5 * HOUR}
    skip = run(230, "SKIPPED", took=None, occurrences=9, **span)
    assert slots_within(skip, EDGES) == [2, 4, 3, 0]
    span = {"scheduled_for": START - 999_999 * HOUR, "scheduled_until": START + HOUR}
    early = run(230, "SKIPPED", took=None, occurrences=1_000_001, **span)
    assert slots_within(early, EDGES) == [1, 1, 0, 0]
    counts = [bucket.counts for bucket in bucketed([skip, run(10)], EDGES)]
    assert counts == [{"success": 1, "skipped": 2}, {"skipped": 4}, {"skipped": 3}, {}]


def test_what_was_read_of_a_busy_bucket_stands_for_all_of_it() -> None:
    """The newest runs cover the last quarter of an hour: four times as many is the best guess, and called one."""
    newest = [
        run(45 + 15 * n / READ_PER_BUCKET, "FAILED" if n % 4 else "SUCCESS", number=n) for n in range(READ_PER_BUCKET)
    ]
    busy, quiet, *_ = bucketed([*newest, run(70)], EDGES)
    assert busy.counts == {"success": READ_PER_BUCKET, "failed": 3 * READ_PER_BUCKET}
    assert (busy.is_estimate, quiet.is_estimate) == (True, False)
