"""Verbs that meet at the same moment: each outcome is that of some order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection, connections, transaction

from routines_app import service
from routines_app.coordination import leases
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import ChangeKind, Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.default_pool import pool_of
from tests.integration.conftest import NOTE
from tests.integration.holding import needs_row_locks, somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Run these side by side, each on a connection of its own; what they returned or the error's class."""
    barrier = threading.Barrier(len(acts))
    outcomes: list[object] = [None] * len(acts)

    def work(at: int, act: Callable[[], object]) -> None:
        barrier.wait()
        try:
            outcomes[at] = act()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            outcomes[at] = type(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(at, act)) for at, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.fixture
def routine() -> Routine:
    return service.create_routine("report", task=NOTE, every="1h")


def test_of_two_edits_on_one_version_one_wins(routine: Routine) -> None:
    """The other is told to read the routine again."""
    outcomes = at_once(
        *(lambda text=text: service.update_routine(routine.pk, version=1, description=text) for text in "ab")  # type: ignore[misc]
    )
    assert sorted(isinstance(outcome, Routine) for outcome in outcomes) == [False, True]
    assert service.StaleVersion in outcomes
    assert Routine.objects.get().version == 2


def test_two_requests_with_one_key_make_one_run(routine: Routine) -> None:
    """A double click on two web processes."""
    runs: list[Any] = at_once(*[lambda: service.run_now(routine.pk, idempotency_key="click")] * 2)
    assert runs[0].pk == runs[1].pk
    assert RoutineRun.objects.count() == 1


def test_of_two_requests_to_a_forbid_routine_one_runs(routine: Routine) -> None:
    """Overlap is decided under the state's lock."""
    service.update_routine(routine, concurrency_policy="FORBID")
    at_once(*[lambda key=key: service.run_now(routine.pk, idempotency_key=key) for key in "abc"])  # type: ignore[misc]
    assert sorted(RoutineRun.objects.values_list("status", flat=True)) == ["PENDING", "SKIPPED", "SKIPPED"]


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID", "REPLACE"])
def test_requests_at_once_are_one_while_it_waits(routine: Routine, policy: str) -> None:
    """Three people press the button; the pool is full."""
    pool = service.create_pool("full", max_concurrent=1)
    service.update_routine(routine, pool=pool, concurrency_policy=policy)
    busy = service.create_routine("busy", task=NOTE, pool=pool)
    service.run_now(busy)
    runs: list[Any] = at_once(*[lambda: service.run_now(routine.pk)] * 3)
    assert len({run.pk for run in runs}) == 1
    assert RoutineRun.objects.filter(routine=routine).count() == 1


def test_two_who_want_the_stalest_get_two_routines() -> None:
    """The second finds the first one busy behind its lock."""
    for name in ("a", "b", "c"):
        service.create_routine(name, task=NOTE)
    runs: list[Any] = at_once(*[service.run_stalest] * 3)
    assert len({run.routine_id for run in runs}) == 3


@needs_row_locks
@pytest.mark.timeout(30)
@pytest.mark.parametrize("verb", ["run_now", "backfill"])
def test_the_default_pool_stays_until_the_run_is_written(
    routine: Routine, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes it meanwhile waits, and is refused."""
    service.create_pool("default", max_concurrent=1, is_default=True)
    outcomes: list[object] = []

    def delete() -> None:
        service.update_pool("default", is_default=False)
        service.delete_pool("default")

    deleting = threading.Thread(target=lambda: outcomes.extend(at_once(delete)))

    def raced(found: Routine) -> int | None:
        pool_id = pool_of(found)
        deleting.start()
        while deleting.is_alive() and at_once(somebody_waits) != [True]:  # inside of our transaction nothing is news
            deleting.join(0.01)
        return pool_id

    monkeypatch.setattr(import_module(f"routines_app.verbs.{verb}"), "pool_of", raced)
    now = clock.now()
    (made,) = [service.run_now(routine)] if verb == "run_now" else service.backfill(routine, now - HOUR, now)
    deleting.join()
    assert outcomes == [service.NotAllowed]
    made.refresh_from_db()
    assert made.pool.name == "default"  # type: ignore[union-attr]


def test_of_two_pools_that_become_the_default_at_once_one_is_it() -> None:
    """Whichever comes last, made or changed; nobody is told of the other."""
    for name in ("a", "b", "old"):
        service.create_pool(name, max_concurrent=1, is_default=name == "old")
    outcomes = at_once(
        lambda: service.update_pool("a", is_default=True),
        lambda: service.update_pool("b", is_default=True),
        lambda: service.create_pool("c", max_concurrent=1, is_default=True),
    )
    assert [type(outcome) for outcome in outcomes] == [Pool] * 3
    assert Pool.objects.filter(is_default=True).count() == 1


def test_a_pause_and_an_archive_at_once_leave_a_sound_state(routine: Routine) -> None:
    """Whichever comes first, the end is ARCHIVED, and the database's own rules hold."""
    outcomes = at_once(lambda: service.pause_routine(routine.pk), lambda: service.archive_routine(routine.pk))
    assert isinstance(outcomes[1], Routine)
    assert outcomes[0] == service.NotAllowed or isinstance(outcomes[0], Routine)
    assert Routine.objects.get().status == RoutineStatus.ARCHIVED
    assert RoutineState.objects.get().next_run_at is None


def test_a_cancel_and_a_start_at_once_have_one_winner(routine: Routine) -> None:
    """The compare-and-set decides: a run is never both started and cancelled as PENDING."""
    run = service.run_now(routine)

    def start() -> int:
        with transaction.atomic():
            pending = RoutineRun.objects.filter(pk=run.pk, status=RunStatus.PENDING)
            return pending.update(status=RunStatus.RUNNING, started_at=run.scheduled_for)

    started, _ = at_once(start, lambda: service.cancel_run(run.pk))
    run.refresh_from_db()
    if started:
        assert (run.status, run.stop_reason) == (RunStatus.RUNNING, "cancelled")
    else:
        assert (run.status, run.started_at) == (RunStatus.CANCELLED, None)


def test_a_lease_is_released_by_hand_and_that_is_written_down(routine: Routine, redis_url: str) -> None:
    """Nothing is written when there was no lease."""
    assert not service.release_lease(routine)
    leases.acquire(routine.pk, "some-run", 30)
    assert service.release_lease(routine, actor="ann", reason="its machine is gone")
    assert leases.holder(routine.pk) is None
    change = ScheduleChange.objects.get(kind=ChangeKind.LEASE_RELEASED)
    assert (change.actor, change.before) == ("ann", {"holder": "some-run"})


def test_verbs_work_inside_a_callers_transaction(routine: Routine) -> None:
    """A rollback of the caller takes everything back."""
    with transaction.atomic():
        service.pause_routine(routine)
        service.update_routine(routine, every="2h")
        transaction.set_rollback(True)
    stored = Routine.objects.get()
    assert (stored.status, stored.interval_ms, stored.version) == (RoutineStatus.ACTIVE, 3_600_000, 1)
    assert not connections["default"].in_atomic_block
