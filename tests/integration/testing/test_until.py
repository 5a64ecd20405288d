"""run_until: time passes from one planned moment to the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.testing import FrozenClock, assert_ledger_balanced, run_due, run_until, running
from tests.integration.testing import tasks
from tests.integration.testing.conftest import THREE, Make


def test_a_day_passes(nightly: Make, clock: FrozenClock) -> None:
    nightly(every="8h", name="thrice")
    nightly("fails", max_attempts=2, retry_delay_ms="10m", retry_jitter=0)

    ran = run_until("2026-03-03T02:59:30+00:00")

    assert [(run.routine.name, run.attempt, run.started_at) for run in ran if run.routine.name == "nightly"] == [
        ("nightly", 1, THREE),
        ("nightly", 2, THREE + timedelta(minutes=10)),
    ]
    assert len([run for run in ran if run.routine.name == "thrice"]) == 3
    assert [run.started_at for run in ran] == sorted(run.started_at for run in ran)
    assert all(run.started_at == run.eligible_at for run in ran)
    assert clock.now() == datetime(2026, 3, 3, 2, 59, 30, tzinfo=UTC)
    assert_ledger_balanced()


def test_a_pause_ends_by_itself(nightly: Make, clock: FrozenClock) -> None:
    nightly(every="10m")
    service.pause_routine("nightly", until=clock.now() + timedelta(hours=1))

    ran = run_until(clock.now() + timedelta(minutes=75))

    assert all(run.started_at >= datetime(2026, 3, 2, 3, 59, tzinfo=UTC) for run in ran)
    assert ran
    assert_ledger_balanced()


def test_too_many_steps_are_refused(nightly: Make, clock: FrozenClock) -> None:
    nightly(every="1m")
    with pytest.raises(NotAllowed, match=r"after so many steps it is 2026-03-02T03:02.* not yet 2026-03-03"):
        run_until("2026-03-03T00:00:00+00:00", most=3)
    assert len(tasks.seen) == 3


def test_a_slot_that_waits_in_line_costs_no_steps(nightly: Make, clock: FrozenClock) -> None:
    nightly(every="30m", concurrency_policy="QUEUE")
    with running("nightly"):
        assert run_until(clock.now() + timedelta(hours=2), most=5) == []
    assert len(run_due()) == 1


def test_it_needs_a_clock_and_does_not_go_back(nightly: Make, clock: FrozenClock) -> None:
    with pytest.raises(NotAllowed, match="only goes forward"):
        run_until("2026-03-02T00:00:00+00:00")


def test_it_needs_a_clock() -> None:
    with pytest.raises(NotAllowed, match="run_until needs a clock that stands"):
        run_until(THREE)
