"""The charts of a routine's page: marks where they fit, else buckets over the whole window."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from routines_app.admin import run_buckets, window_charts
from routines_app.core.keys import uuid7_int
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import dice, ended, make_routine, make_run
from tests.integration.admin.pages import overview_url, text_of

WEEK = timedelta(days=7)


def many(routine: Routine, now: datetime, count: int, length: timedelta = WEEK) -> None:
    """So many runs of two seconds, evenly over the time until now."""
    RoutineRun.objects.bulk_create(_run(routine, now - length * place / count) for place in range(count, 0, -1))


def _run(routine: Routine, at: datetime) -> RoutineRun:
    number = dice.getrandbits(74)
    return RoutineRun(
        id=UUID(int=uuid7_int(int(at.timestamp() * 1000), number)),
        routine=routine,
        task=routine.task,
        status="SUCCESS",
        idempotency_key=f"test:{number}",
        scheduled_for=at,
        eligible_at=at,
        started_at=at,
        completed_at=at + timedelta(seconds=2),
    )


def test_a_week_of_many_runs_fills_the_whole_window(operator: Client) -> None:
    """Every part of it has its column, which tells its numbers and leads to its runs; the same stands in a table."""
    routine = make_routine()
    many(routine, clock.now(), 600)
    page = operator.get(f"{overview_url(routine)}?window=7d")
    rows = page.context["buckets"]
    assert len(rows) == run_buckets.BUCKETS
    assert {row["runs"] for row in rows} <= {"9 success", "10 success", "11 success"}
    assert f"routine={routine.pk}&from=" in rows[0]["href"]
    assert rows[0]["href"].endswith("Z")
    said = " ".join(page.content.decode().split())
    assert said.count('class="rt-stack"') == run_buckets.BUCKETS * (2 + 2)  # the timeline in two widths, two charts
    assert "2 s (median), 2 s (95 %)" in said
    assert "estimates" not in said


def test_few_runs_of_a_window_are_marks_whatever_lies_before_it(operator: Client) -> None:
    """Of a busy day an hour of few runs is drawn one by one."""
    routine = make_routine()
    many(routine, clock.now(), 600, timedelta(days=1))
    assert "Timeline of" in text_of(operator, f"{overview_url(routine)}?window=1h")
    assert operator.get(f"{overview_url(routine)}?window=24h").context["buckets"]


def test_buckets_cost_one_bounded_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs there are, a few of each bucket are read, in one statement, and stand for the others."""
    monkeypatch.setattr(run_buckets, "READ_PER_BUCKET", 5)
    routine, now = make_routine(), clock.now()
    many(routine, now, 1200)
    ended(make_routine("another"), now - timedelta(hours=3))
    with CaptureQueriesContext(connection) as captured:
        found = run_buckets.read_buckets(routine, now - WEEK, now)
    assert len(captured) == 1
    assert all(bucket.is_estimate for bucket in found)
    assert sum(sum(bucket.counts.values()) for bucket in found) == pytest.approx(1200, rel=0.15)


def test_buckets_know_chains_and_skipped_slots() -> None:
    """Of each database alike: the last attempt counts, and a row for many slots counts as many."""
    routine, now = make_routine(), clock.now()
    first = ended(routine, now - timedelta(minutes=30), status="FAILED", late=4)
    ended(routine, now - timedelta(minutes=29.5), 6, attempt=2, chain=first.pk, trigger="retry")
    make_run(
        routine,
        at=now - timedelta(minutes=50),
        status="SKIPPED",
        reason="misfire",
        completed_at=now,
        occurrences=11,
        scheduled_until=now - timedelta(minutes=40),
    )
    found = run_buckets.read_buckets(routine, now - timedelta(hours=1), now)
    counts = dict.fromkeys(run_buckets.KINDS, 0)
    for bucket in found:
        counts = {key: count + bucket.counts.get(key, 0) for key, count in counts.items()}
    assert {key: count for key, count in counts.items() if count} == {"success": 1, "retried": 1, "skipped": 11}
    assert sum("skipped" in bucket.counts for bucket in found) == 11
    assert max(bucket.durations.high for bucket in found if bucket.durations) == 6
    assert max(bucket.lateness.high for bucket in found if bucket.lateness) == 4


def test_marks_and_buckets_meet_at_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run more than fits makes buckets."""
    monkeypatch.setattr(window_charts, "FITTING", 3)
    routine, now = make_routine(), clock.now()
    for minutes in (10, 20, 30):
        ended(routine, now - timedelta(minutes=minutes))
    start = now - timedelta(hours=1)
    runs = window_charts.newest_runs(routine, start)
    assert window_charts.window_charts(routine, runs, start, now)["buckets"] == []
    ended(routine, now - timedelta(minutes=40))
    runs = window_charts.newest_runs(routine, start)
    assert len(window_charts.window_charts(routine, runs, start, now)["buckets"]) == 4
