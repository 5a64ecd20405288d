"""Waiting runs that cannot be decided: what cannot be read is taken out, and an error that passes parks nobody."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection
from django.utils import timezone

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger.apart import Apart
from routines_app.protocol.publish import pools, unreadable, waiting
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.unreadable import NEXT_LOOK, take_out
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.integration.conftest import NOTE
from tests.integration.hearing import hearing, names_of
from tests.integration.holding import held, needs_postgresql, needs_row_locks
from tests.integration.protocol.publish.test_apart import spoil, waits

pytestmark = pytest.mark.usefixtures("ledger")

UNREADABLE = DataError("timestamp too large")


def locked_out() -> OperationalError:
    """What a statement says that has waited for a lock for too long."""
    error = OperationalError("canceling statement due to lock timeout")
    error.__cause__ = Exception(1205, "as the server says it")
    return error


@pytest.mark.parametrize("error", [MemoryError("out of it"), TypeError("a bug of ours")])
def test_an_error_that_may_pass_parks_nobody(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The run is looked at later, which is said once; when the error has passed it goes."""
    run, judge = waits("unlucky"), waiting.judge
    waits("lucky")

    def fail(rows: Any, now: Any) -> Any:
        if any(row.name == "unlucky" for row in rows):
            raise error
        return judge(rows, now)

    now = timezone.now()
    with monkeypatch.context() as patch:
        patch.setattr(waiting, "judge", fail)
        assert [message.routine for message in dispatch_waiting(now)] == ["lucky"]
        RoutineRun.objects.exclude(pk=run.pk).delete()
        assert dispatch_waiting(now + NEXT_LOOK) == []
    run.refresh_from_db()
    assert (run.status, run.reason) == ("PENDING", "publish_failed")
    assert set(Routine.objects.values_list("status", flat=True)) == {"ACTIVE"}
    assert len([line for line in caplog.messages if "is looked at later" in line]) == 1
    assert [message.routine for message in dispatch_waiting(now + 2 * NEXT_LOOK)] == ["unlucky"]


def test_a_queue_that_could_not_be_read_in_time_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the pool's first try nor the search for who is at fault says anything about a value."""
    pool = Pool.objects.create(name="narrow", max_concurrent=5)
    run = waits("queues", publish_after=None, pool=pool)

    def fail(*_: Any) -> Any:
        raise locked_out()

    with monkeypatch.context() as patch:
        patch.setattr(pools, "_first_in_queue", fail)
        patch.setattr(unreadable, "each_apart", lambda *_: Apart([(run.pk, locked_out())], []))
        assert admit_pools(timezone.now()) == []
    assert Routine.objects.get().status == "ACTIVE"
    assert [message.routine for message in admit_pools(timezone.now())] == ["queues"]


@needs_postgresql
def test_a_run_that_cannot_be_read_of_a_routine_that_cannot_be_read() -> None:
    """The run is cancelled and told of, the routine parked: neither keeps the other from being mended."""
    run = waits("broken")
    spoil("routinerun", "eligible_at", run.pk)
    spoil("routine", "created_at", run.routine_id)
    with hearing("run_cancelled", "routine_parked") as heard:
        dispatch_waiting(timezone.now())
    run = RoutineRun.objects.select_related("routine").get()
    assert (run.status, run.routine.status) == ("CANCELLED", "PARKED")
    assert sorted(names_of(heard)) == ["routine_parked", "run_cancelled"]


@needs_row_locks
def test_a_run_is_not_touched_before_its_routines_state_is_ours() -> None:
    """States before runs, for everybody: what holds the state may want the run."""
    run = waits("edited")
    if connection.vendor == "postgresql":
        spoil("routinerun", "eligible_at", run.pk)
    now = timezone.now()
    with held("routinestate", "routine_id", [run.routine_id]):
        take_out(run.pk, UNREADABLE, now)
    found = RoutineRun.objects.filter(pk=run.pk, status="PENDING", publish_after=now + NEXT_LOOK)
    assert found.exists()


def test_a_good_run_does_not_make_a_bad_one_of_its_routine_news_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That its neighbours are sent says nothing about the one that cannot be decided."""
    routine, judge = service.create_routine("mixed", task=NOTE), waiting.judge
    bad = waits("mixed", 0, routine)

    def fail(rows: Any, now: Any) -> Any:
        if any(row.id == bad.pk for row in rows):
            raise locked_out()
        return judge(rows, now)

    monkeypatch.setattr(waiting, "judge", fail)
    for number in range(1, 4):
        waits("mixed", number, routine)
        assert dispatch_waiting(timezone.now() + number * timedelta(seconds=5)) != []
    assert len([line for line in caplog.messages if "cannot be decided now" in line]) == 1
