"""Orphans: what a beat must have seen before it calls a run dead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import redis
from django.db import connection
from django.db.models import JSONField, Value
from django.test import override_settings
from django.utils import timezone

from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record import facts
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep import orphans
from routines_app.protocol.upkeep.orphans import Heartbeat, Observer, orphan_runs, orphan_silent
from tests.acceptance.ringing import ring, routine
from tests.integration.holding import needs_row_locks, row_locked
from tests.processes import free_port

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

NOW = timezone.now()


def begin(name: str = "plain", **policies: object) -> RunFacts:
    begun = start(ring(routine(name, **policies), send=False).id, "gone")
    assert isinstance(begun, Started)
    return begun.facts


def status(run_id: UUID) -> tuple[str, str]:
    row = RoutineRun.objects.get(id=run_id)
    return row.status, row.reason


def test_a_heartbeat_that_stands_still_is_noticed_after_a_while() -> None:
    """By the observer's own clock; a new heartbeat starts the count again."""
    observer, run = Observer(), uuid4()
    first, second = Heartbeat(run, NOW), Heartbeat(run, NOW + timedelta(seconds=1))
    assert observer.observe([first], 0) == []
    assert observer.observe([first], 24.9) == []
    assert observer.observe([second], 26) == []
    assert observer.observe([second], 50) == []
    assert observer.observe([second], 51) == [run]


def test_a_worker_may_allow_its_hearts_a_longer_silence() -> None:
    """It is on the row, because the worker knows what holds its hearts up and the beat does not."""
    observer, patient, plain = Observer(), uuid4(), uuid4()
    rows = [Heartbeat(patient, NOW, 120), Heartbeat(plain, NOW)]
    observer.observe(rows, 0)
    assert observer.observe(rows, 60) == [plain]
    assert observer.observe(rows, 120) == [patient, plain]
    assert observer.suspects(59) == [plain]


@needs_row_locks
def test_a_locked_row_starts_the_count_again() -> None:
    """No heart could stamp it: its silence says nothing, and the row of another is judged as ever."""
    held, free, observer = begin("held"), begin("free"), Observer()
    orphan_silent(observer, NOW, 0)
    with row_locked(held.id):
        assert orphan_silent(observer, NOW, 24) == 0
        assert orphan_silent(observer, NOW, 26) == 1
    assert orphan_silent(observer, NOW, 48) == 0
    assert (status(held.id)[0], status(free.id)[1]) == (RunStatus.RUNNING, Reason.ORPHANED)
    assert orphan_silent(observer, NOW, 52) == 1


@needs_row_locks
def test_a_beat_that_asks_whether_a_row_is_locked_does_not_lock_it_for_another() -> None:
    """Several beats watch the same runs, and none of them must begin to count because another one looks."""
    run = begin()

    def look() -> set[UUID]:
        try:
            return orphans.locked_runs([run.id])
        finally:
            connection.close()

    with bounded(), ThreadPoolExecutor(1) as another:
        assert orphans.locked_runs([run.id]) == set()
        assert another.submit(look).result() == set()
    with row_locked(run.id):
        assert orphans.locked_runs([run.id]) == {run.id}


def test_an_error_of_the_database_starts_the_count_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could write a heartbeat meanwhile, so an outage orphans nobody."""
    run, observer = begin(), Observer()
    orphan_silent(observer, NOW, 0)
    with monkeypatch.context() as patch:
        patch.setattr(orphans, "running_heartbeats", lambda now: (_ for _ in ()).throw(RuntimeError("away")))
        with pytest.raises(RuntimeError):
            orphan_silent(observer, NOW, 20)
    assert orphan_silent(observer, NOW, 30) == 0
    assert status(run.id)[0] == RunStatus.RUNNING
    assert orphan_silent(observer, NOW, 56) == 1
    assert status(run.id) == (RunStatus.FAILED, Reason.ORPHANED)


def test_an_orphan_is_retried_at_once_and_costs_an_attempt() -> None:
    run = begin(retry_delay_ms=600_000, retry_max_delay_ms=600_000)
    assert orphan_runs([run.id], NOW) == [run.id]
    retry = RoutineRun.objects.get(retry_of_id=run.id)
    assert (retry.attempt, retry.budget_used) == (2, 2)
    assert retry.eligible_at <= timezone.now() + timedelta(seconds=1)


def test_an_exclusive_run_is_not_orphaned_while_its_lease_lives(redis_client: redis.Redis) -> None:
    run = begin(concurrency_policy="FORBID")
    assert orphan_runs([run.id], NOW) == []
    redis_client.flushdb()
    assert orphan_runs([run.id], NOW) == [run.id]
    assert leases.holder(run.routine_id) is None


def test_an_exclusive_run_is_left_alone_while_nobody_can_ask_for_its_lease() -> None:
    run = begin(concurrency_policy="FORBID")
    with override_settings(ROUTINES={"REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}):
        assert orphan_runs([run.id], NOW) == []


def test_a_redis_that_hangs_is_asked_once_per_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exclusive runs wait for the next pass, the others are orphaned in this one."""
    alone = [begin(f"alone {number}", concurrency_policy="FORBID") for number in range(3)]
    plain = begin("plain")
    asked = []

    def hang(routine_id: int) -> None:
        asked.append(routine_id)
        raise redis.TimeoutError("frozen")

    monkeypatch.setattr(leases, "holder", hang)
    assert orphan_runs([*(run.id for run in alone), plain.id], NOW) == [plain.id]
    assert len(asked) == 1
    monkeypatch.undo()
    for run in alone:
        leases.release(run.routine_id, run.token)
    assert len(orphan_runs([run.id for run in alone], NOW)) == 3


def test_a_slow_redis_is_not_asked_for_longer_than_a_pass_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of the runs is looked at in the next pass."""
    alone = [begin(f"alone {number}", concurrency_policy="FORBID") for number in range(3)]
    for run in alone:
        leases.release(run.routine_id, run.token)
    monkeypatch.setattr(orphans, "LEASES_SECONDS", 1e-9)
    assert orphan_runs([run.id for run in alone], NOW) == [alone[0].id]


def test_a_bad_row_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it."""
    bad, good = begin("bad"), begin("good")
    load = facts.load
    monkeypatch.setattr(facts, "load", lambda run_id: load(run_id) if run_id == good.id else 1 / 0)
    assert orphan_runs([bad.id, good.id], NOW) == [good.id]


def test_a_run_of_a_routine_whose_rules_are_broken_can_still_be_orphaned() -> None:
    """Plain SQL can put a null where a list belongs."""
    run = begin("broken")
    Routine.objects.filter(pk=run.routine_id).update(
        retry_for=Value(None, JSONField()), no_retry_for=Value("oops", JSONField())
    )
    assert orphan_runs([run.id], NOW) == [run.id]
    assert status(run.id) == (RunStatus.FAILED, Reason.ORPHANED)


def test_many_reconcilers_make_one_retry() -> None:
    run = begin()

    def reconcile(_: int) -> list[UUID]:
        try:
            return orphan_runs([run.id], NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as executor:
        found = list(executor.map(reconcile, range(6)))
    assert sum(len(ids) for ids in found) == 1
    assert RoutineRun.objects.filter(retry_of_id=run.id).count() == 1
