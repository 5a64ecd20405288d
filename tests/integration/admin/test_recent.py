"""The newest slots of routines: each with the outcome of its last attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from routines_app.admin import recent
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run, make_run_with_retry

WAYS = [recent._window_rows, *([recent._lateral_rows] if connection.vendor == "postgresql" else [])]
MINUTE = timedelta(minutes=1)


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__.strip("_"))
def slots_of(request: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., recent.Recent]:
    """PostgreSQL's own statement and the portable query are judged by the same cases."""
    way: Callable[..., Iterable[recent.Row]] = request.param
    monkeypatch.setattr(recent, "_rows", way)

    def slots_of(routine: Routine, limit: int = 30) -> recent.Recent:
        return recent.recent_runs([routine.pk], using="default", limit=limit)[routine.pk]

    return slots_of


def chain(routine: Routine, at: datetime, *statuses: str) -> RoutineRun:
    """One slot, an attempt for each status, a minute apart."""
    first = ended(routine, at, status=statuses[0])
    for number, status in enumerate(statuses[1:], start=2):
        later = at + (number - 1) * MINUTE
        times = {"started_at": later, "completed_at": None if status in ("PENDING", "RUNNING") else later}
        make_run(routine, at=later, status=status, attempt=number, chain=first.pk, trigger="retry", **times)
    return first


def test_a_slot_has_the_outcome_of_its_last_attempt(slots_of: Callable[..., recent.Recent]) -> None:
    """Two of three succeeded; what is skipped, cancelled or still under way counts for neither."""
    routine, now = make_routine(), clock.now()
    chain(routine, now - 60 * MINUTE, "FAILED", "FAILED", "SUCCESS")
    chain(routine, now - 50 * MINUTE, "FAILED", "FAILED", "FAILED")
    ended(routine, now - 40 * MINUTE)
    make_run(routine, at=now - 30 * MINUTE, status="SKIPPED", completed_at=now)
    ended(routine, now - 20 * MINUTE, status="CANCELLED")
    chain(routine, now - 10 * MINUTE, "FAILED", "PENDING")
    found = slots_of(routine)
    outcomes = ["SUCCESS", "FAILED", "SUCCESS", "SKIPPED", "CANCELLED", "PENDING"]
    assert [bar.outcome for bar in found.bars] == outcomes
    assert found.success_rate == 2 / 3
    assert (found.retried, len(found.counted)) == (2, 3)


def test_retries_do_not_make_a_slot_newer(slots_of: Callable[..., recent.Recent]) -> None:
    """The last two slots are the last two, also when an older one is being tried again between their runs."""
    routine, now = make_routine(), clock.now()
    old = ended(routine, now - 60 * MINUTE, status="FAILED")
    ended(routine, now - 30 * MINUTE)
    ended(routine, now - 20 * MINUTE)
    for number in (2, 3):
        ended(routine, now - (30 - number * 5) * MINUTE, status="FAILED", attempt=number, chain=old.pk)
    assert [bar.outcome for bar in slots_of(routine, 2).bars] == ["SUCCESS", "SUCCESS"]
    assert [bar.attempts for bar in slots_of(routine, 3).bars] == [3, 1, 1]


def test_a_chain_that_is_longer_than_what_is_read_is_one_slot(slots_of: Callable[..., recent.Recent]) -> None:
    """Of a routine with a thousand attempts a slot, as many runs are read as of any other."""
    routine, now = make_routine(), clock.now()
    ended(routine, now - 100 * MINUTE)
    chain(routine, now - 60 * MINUTE, *(["FAILED"] * 12), "SUCCESS")
    assert [(bar.outcome, bar.attempts) for bar in slots_of(routine, 2).bars] == [("SUCCESS", 13)]
    assert slots_of(routine, 2).success_rate == 1


def test_each_routine_has_its_own_slots_in_one_question(slots_of: Callable[..., recent.Recent]) -> None:
    """The newest of each, oldest first; a routine without runs has none."""
    now = clock.now()
    routines = [make_routine(f"r{number}") for number in range(3)]
    for minutes in range(5):
        ended(routines[0], now - minutes * MINUTE, seconds=minutes)
        make_run(routines[1], at=now - minutes * MINUTE, status="SKIPPED", completed_at=now)
    make_run_with_retry(routines[0], now - 40 * MINUTE)
    ids = [routine.pk for routine in routines]
    found = recent.recent_runs(ids, using="default", limit=3)
    assert [bar.seconds for bar in found[ids[0]].bars] == [2, 1, 0]
    assert found[ids[1]].success_rate is None
    assert not found[ids[2]].bars
    assert slots_of(routines[0]).usual_seconds == 2.5
