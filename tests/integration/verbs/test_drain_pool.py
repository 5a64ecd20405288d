"""A pool that lets nothing start: by its ceiling, drained, or stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.run.start import NotOurs, Started, start
from routines_app.verbs import drain_pool as draining
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

pytestmark = pytest.mark.each_database

Make = Callable[..., Routine]
QUEUED: dict[str, Any] = {"admitted_at": None, "publish_after": None, "reason": Reason.CEILING}


@pytest.fixture
def pool(db: None) -> Pool:
    return service.create_pool("narrow", max_concurrent=3)


def test_with_a_ceiling_of_0_everything_waits_and_goes_when_it_is_raised(make: Make, time: Time, pool: Pool) -> None:
    """What waits says what for, and nothing divides by it."""
    routine = make(every="1h", pool="narrow")
    service.update_pool(pool, max_concurrent=0)
    run = waiting_run(routine, 1, pool=pool, **QUEUED)
    assert admit_pools(time.now) == []
    (waiting,) = service.queue("narrow").automatic
    assert waiting.why == "pool narrow lets nothing start: its ceiling is 0, and 0 are in flight"
    decision = next(one for one in service.plan_leases().decisions if one.run_id == run.pk)
    assert "pool narrow lets nothing start (0 of 0 in flight)" in decision.why
    service.update_pool(pool, max_concurrent=1)
    assert [message.run_id for message in admit_pools(time.now)] == [str(run.pk)]


def test_a_drained_pool_takes_back_what_has_not_begun(make: Make, time: Time, pool: Pool) -> None:
    """Its message is in the broker, and does nothing; opened again, the pool has its ceiling, and the run goes out."""
    routine = make(every="1h", pool="narrow")
    running = running_run(routine, 1, pool=pool)
    sent = waiting_run(routine, 2, pool=pool, dispatched_at=MONDAY)
    drained = service.drain_pool("narrow")
    assert (drained.max_concurrent, drained.drained_from) == (0, 3)
    assert start(sent.pk, "worker") == NotOurs()
    running.refresh_from_db()
    assert (running.status, running.stop_requested_at) == (RunStatus.RUNNING, None)
    assert service.drain_pool("narrow").drained_from == 3  # and not 0
    assert admit_pools(time.now) == []

    assert service.open_pool("narrow").max_concurrent == 3
    assert [message.run_id for message in admit_pools(time.now)] == [str(sent.pk)]
    assert isinstance(start(sent.pk, "worker"), Started)
    assert service.open_pool("narrow").max_concurrent == 3


def test_whoever_gives_a_ceiling_has_opened_it(pool: Pool) -> None:
    """A ceiling of 0 that somebody gave is no drain: there is nothing to give back."""
    service.drain_pool(pool)
    assert service.update_pool(pool, max_concurrent=5).drained_from is None
    service.update_pool(pool, max_concurrent=0)
    with pytest.raises(service.NotAllowed, match="its ceiling was set to 0"):
        service.open_pool(pool)
    assert service.drain_pool(pool).drained_from is None


def test_stop_asks_what_runs_and_leaves_what_waits(make: Make, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches, the first request counts, and other pools go on."""
    monkeypatch.setattr(draining, "AT_ONCE", 2)
    routine, other = make("in", every="1h", pool="narrow"), make("out", every="1h")
    running = [running_run(routine, number, pool=pool) for number in range(5)]
    waits, elsewhere = waiting_run(routine, 8, pool=pool, **QUEUED), running_run(other, 9)
    service.cancel_run(running[0], reason="mine")
    told: list[int] = []
    assert service.stop_pool(pool, reason="a sale", actor="ann", progress=told.append) == 4
    assert told == [2, 4]
    rows = RoutineRun.objects.filter(stop_requested_at__isnull=False).order_by("id")
    assert {row.pk for row in rows} == {run.pk for run in running}
    assert sorted(row.error for row in rows) == ["cancelled by ann: a sale"] * 4 + ["cancelled: mine"]
    waits.refresh_from_db()
    elsewhere.refresh_from_db()
    assert (waits.status, elsewhere.stop_requested_at) == (RunStatus.PENDING, None)
    assert Pool.objects.get().max_concurrent == 0


def test_a_drained_pool_travels_with_its_ceiling_and_stays_drained(make: Make, pool: Pool) -> None:
    """Whoever has stopped a pool does not find it open because a file came in."""
    make(every="1h", pool="narrow")
    service.drain_pool(pool)
    file = service.export_routines()
    assert file["pools"] == {"narrow": {"max_concurrent": 3}}
    assert not [entry for entry in service.import_routines(file).entries if entry.changes]
    file["pools"]["narrow"]["max_concurrent"] = 4
    service.import_routines(file)
    assert Pool.objects.values_list("max_concurrent", "drained_from").get() == (0, 4)
    file["pools"]["narrow"]["max_concurrent"] = 0
    service.import_routines(file)
    assert Pool.objects.values_list("max_concurrent", "drained_from").get() == (0, None)
    assert service.export_routines()["pools"] == {"narrow": {"max_concurrent": 0}}


def test_what_is_taken_back_remembers_that_it_waited(make: Make, time: Time, pool: Pool) -> None:
    """Or nobody could say afterwards why it began so late."""
    sent = waiting_run(make(every="1h", pool="narrow"), 1, pool=pool, dispatched_at=MONDAY)
    service.drain_pool(pool)
    sent.refresh_from_db()
    assert [(wait.reason, wait.since) for wait in sent.waited] == [(Reason.CEILING, time.now)]


def test_those_that_begin_meanwhile_keep_none_of_the_others_in(
    make: Make, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole batch of them starts before it is locked: what comes behind is taken back all the same."""
    monkeypatch.setattr(draining, "AT_ONCE", 1)
    routine = make(every="1h", pool="narrow", concurrency_policy="ALLOW")
    first, second = (waiting_run(routine, number, pool=pool, dispatched_at=MONDAY) for number in (1, 2))
    lock_runs, begun = draining.lock_runs, list[Any]()

    def begin_before(runs: Any, run_ids: list[Any]) -> list[Any]:
        if first.pk in run_ids:
            begun.append(start(first.pk, "worker"))
        return lock_runs(runs, run_ids)

    monkeypatch.setattr(draining, "lock_runs", begin_before)
    service.drain_pool(pool)
    assert isinstance(begun[0], Started)
    second.refresh_from_db()
    assert second.admitted_at is None


def test_a_pool_that_is_opened_meanwhile_is_left_alone(make: Make, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats let runs in again: who drained it a moment ago does not take those back, over and over."""
    monkeypatch.setattr(draining, "AT_ONCE", 1)
    routine = make(every="1h", pool="narrow")
    for number in (1, 2):
        waiting_run(routine, number, pool=pool, dispatched_at=MONDAY)
    take_back = draining._take_back

    def open_after(drained: Pool) -> int:
        taken = take_back(drained)
        service.open_pool(drained)
        return taken

    monkeypatch.setattr(draining, "_take_back", open_after)
    service.drain_pool(pool)
    assert RoutineRun.objects.filter(admitted_at__isnull=False).count() == 1
