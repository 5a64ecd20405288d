"""running: a run that is RUNNING while a slot comes, and what each policy makes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.models import RoutineRun
from routines_app.testing import FrozenClock, assert_skipped, frozen_clock, run_due, running
from tests.integration.testing import tasks
from tests.integration.testing.conftest import Make


def reread(run: RoutineRun) -> RoutineRun:
    return RoutineRun.objects.get(pk=run.pk)


def test_forbid_skips_the_slot(nightly: Make, clock: FrozenClock) -> None:
    nightly(concurrency_policy="FORBID")
    with running("nightly") as run:
        assert (run.status, run.fence, run.running_key) == ("RUNNING", 1, run.routine_id)
        clock.move(minutes=1)
        assert run_due() == []
    assert_skipped("nightly", "overlap", times=1)
    run = reread(run)
    assert (run.status, run.completed_at - run.started_at) == ("SUCCESS", timedelta(minutes=1))
    assert tasks.seen == [], "its own task is not called"


def test_allow_runs_beside_it(nightly: Make, clock: FrozenClock) -> None:
    nightly()
    with running("nightly"):
        clock.move(minutes=1)
        assert len(run_due()) == 1


def test_queue_waits_for_its_end(nightly: Make, clock: FrozenClock) -> None:
    nightly(concurrency_policy="QUEUE")
    with running("nightly"):
        clock.move(minutes=1)
        assert run_due() == []
    assert [run.status for run in run_due()] == ["SUCCESS"]


def test_replace_asks_it_to_stop(nightly: Make, clock: FrozenClock) -> None:
    nightly(concurrency_policy="REPLACE")
    with running("nightly") as run:
        clock.move(minutes=1)
        assert run_due() == []
        assert reread(run).stop_requested_at == clock.now()
    assert (reread(run).status, reread(run).reason) == ("CANCELLED", "replaced")
    assert [run.status for run in run_due()] == ["SUCCESS"]


def test_it_takes_its_place_in_its_pool(nightly: Make, clock: FrozenClock) -> None:
    service.create_pool("db", max_concurrent=1)
    nightly(pool="db")
    nightly(name="other", pool="db")
    with running("other"):
        clock.move(minutes=1)
        assert run_due() == []
        with pytest.raises(NotAllowed, match=r"a run of it cannot start now: it is PENDING"), running("nightly"):
            pass
    assert [run.routine.name for run in run_due()].count("nightly") == 2


def test_a_second_exclusive_one_is_refused(nightly: Make, clock: FrozenClock) -> None:
    nightly(concurrency_policy="FORBID")
    with (
        running("nightly"),
        pytest.raises(NotAllowed, match=r"nightly.* cannot start now: it is SKIPPED \(overlap\)"),
        running("nightly"),
    ):
        pass


def test_one_that_somebody_ends_stays_ended(nightly: Make, clock: FrozenClock) -> None:
    nightly()
    with running("nightly") as run:
        service.abandon_run(run)
    assert (reread(run).status, reread(run).reason) == ("FAILED", "abandoned")


def test_it_needs_a_clock(db: None, redis_client: redis.Redis) -> None:
    with frozen_clock():
        service.create_routine("nightly", task=f"{tasks.__name__}.say", every="1h")
    with pytest.raises(NotAllowed, match="running needs a clock that stands"), running("nightly"):
        pass
    assert not RoutineRun.objects.exists()
