"""A waiting run that cannot be decided, read or stamped now does not keep the others from going out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.publish import pools, waiting
from routines_app.protocol.publish.outbox import stamp
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting, next_waiting_at
from tests.integration.conftest import NOTE
from tests.integration.holding import held, needs_postgresql, needs_row_locks, stranger

pytestmark = pytest.mark.usefixtures("ledger")


def waits(name: str, number: int = 0, routine: Routine | None = None, **values: Any) -> RoutineRun:
    """A run in the outbox whose time has come."""
    routine = routine or service.create_routine(name, task=NOTE)
    now = timezone.now() - timedelta(seconds=1)
    given = {"publish_after": now, "eligible_at": now, "scheduled_for": now, "trigger": "schedule"} | values
    return RoutineRun.objects.create(routine=routine, task=NOTE, idempotency_key=f"m:{name}:{number}", **given)


def key_of(run_id: UUID) -> object:
    return run_id.hex if connection.vendor == "mysql" else run_id


def spoil(table: str, column: str, key: object, value: str = "infinity") -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE routines_{table} SET {column} = %s WHERE id = %s", [value, key])


def sent() -> list[str]:
    return sorted(message.routine for message in dispatch_waiting(timezone.now()))


@needs_postgresql
@pytest.mark.parametrize(
    ("column", "value"),
    [("eligible_at", "infinity"), ("scheduled_for", "-infinity")],
)
def test_a_waiting_run_that_cannot_be_read_is_cancelled_and_the_others_go(column: str, value: str) -> None:
    """With the reason on its row, which can be read again."""
    broken = waits("broken")
    waits("sound")
    waits("sound too")
    spoil("routinerun", column, broken.pk, value)
    assert next_waiting_at() is not None
    assert sent() == ["sound", "sound too"]
    broken.refresh_from_db()
    assert (broken.status, broken.reason) == ("CANCELLED", "cancelled")
    assert "cannot be read" in broken.error


@needs_postgresql
def test_a_moment_before_all_others_is_due() -> None:
    """Nobody needs to read it to send the run."""
    spoil("routinerun", "publish_after", waits("early").pk, "-infinity")
    assert next_waiting_at() is not None
    assert sent() == ["early"]


@needs_postgresql
def test_a_moment_that_never_comes_does_not_hide_the_others() -> None:
    spoil("routinerun", "publish_after", waits("never").pk)
    assert next_waiting_at() is None
    coming = waits("soon").publish_after
    assert next_waiting_at() == coming


@needs_postgresql
def test_a_queue_with_an_unreadable_run_or_routine_lets_the_others_in() -> None:
    """The run is cancelled, the routine parked; from the next look on the pool is filled again."""
    pool = Pool.objects.create(name="narrow", max_concurrent=5)
    runs = [waits(name, publish_after=None, pool=pool) for name in ("broken", "of a broken one", "sound")]
    spoil("routinerun", "eligible_at", runs[0].pk, "-infinity")
    spoil("routine", "created_at", runs[1].routine_id)
    now = timezone.now()
    assert [message.routine for _ in range(2) for message in admit_pools(now)] == ["sound"]
    assert RoutineRun.objects.get(pk=runs[0].pk).status == "CANCELLED"
    assert Routine.objects.get(pk=runs[1].routine_id).status == "PARKED"


@needs_row_locks
def test_in_a_full_pools_place_of_a_held_run_goes_the_next() -> None:
    """A ceiling of one, and the first in line is somebody's: the pool does not stand still."""
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    routine = service.create_routine("line", task=NOTE)
    first, second = (waits("line", number, routine, publish_after=None, pool=pool) for number in range(2))
    with held("routinerun", "id", [key_of(first.pk)]):
        assert [message.run_id for message in admit_pools(timezone.now())] == [str(second.pk)]
        assert admit_pools(timezone.now()) == []


def test_one_pool_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once."""
    bad, good = (Pool.objects.create(name=name, max_concurrent=9) for name in ("bad", "good"))
    for pool in (bad, good):
        waits(pool.name, publish_after=None, pool=pool)
    first_in_queue = pools._first_in_queue

    def fail(pool_id: int, room: int, now: Any) -> Any:
        if pool_id == bad.pk:
            raise OperationalError("refused") from Exception(1644, "SIGNAL")
        return first_in_queue(pool_id, room, now)

    def said() -> int:
        return len([line for line in caplog.messages if "lets nobody in" in line])

    with monkeypatch.context() as patch:
        patch.setattr(pools, "_first_in_queue", fail)
        assert [message.routine for _ in range(2) for message in admit_pools(timezone.now())] == ["good"]
        assert said() == 1
    assert [message.routine for message in admit_pools(timezone.now())] == ["bad"]
    waits("later", publish_after=None, pool=bad)
    monkeypatch.setattr(pools, "_first_in_queue", fail)
    admit_pools(timezone.now())
    assert said() == 2, "it was over: the next time is news"


@needs_row_locks
def test_a_row_that_deciding_one_run_needs_and_somebody_holds_stops_only_that_one() -> None:
    """Here: the run that it replaces."""
    replaces = service.create_routine("replaces", task=NOTE, concurrency_policy="REPLACE")
    old = waits("replaces", 0, replaces)
    dispatch_waiting(timezone.now())
    new = waits("replaces", 1, replaces)
    waits("free")
    asked_at = timezone.now()
    with held("routinerun", "id", [key_of(old.pk)]):
        # MariaDB waits for whole seconds, and one may be all the time that a look has: then it goes with the next one.
        assert (sent() or sent()) == ["free"]
    new.refresh_from_db()
    assert new.publish_after is not None
    assert new.publish_after > asked_at
    assert new.pk in waiting._said
    RoutineRun.objects.filter(id=new.pk).update(publish_after=timezone.now() - timedelta(seconds=1))
    sent()
    assert new.pk not in waiting._said, "it was decided: the next time is news"


@needs_row_locks
def test_runs_that_nobody_holds_are_stamped_beside_one_that_somebody_does(caplog: pytest.LogCaptureFixture) -> None:
    """That one goes out once more when it is free, which does nothing."""
    runs = [
        waits("line", number, routine, admitted_at=timezone.now())
        for routine in [service.create_routine("line", task=NOTE)]
        for number in range(3)
    ]
    with held("routinerun", "id", [key_of(runs[1].pk)]):
        assert stamp([str(run.pk) for run in runs], timezone.now()) == 2
    assert RoutineRun.objects.filter(dispatched_at=None).get().pk == runs[1].pk
    assert any("held by somebody else" in line for line in caplog.messages)


@needs_postgresql
def test_a_waiting_run_that_somebody_only_refers_to_goes_out() -> None:
    """A project's row with a foreign key to the run, in a transaction that is still open."""
    pool = Pool.objects.create(name="wide", max_concurrent=9)
    runs = [waits("free"), waits("pooled", publish_after=None, pool=pool)]
    with stranger() as other:
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM routines_routinerun FOR KEY SHARE")
        assert sent() == ["free"]
        assert [message.routine for message in admit_pools(timezone.now())] == ["pooled"]
        assert stamp([str(run.pk) for run in runs], timezone.now()) == len(runs)
