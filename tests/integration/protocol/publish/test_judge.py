"""Waiting runs: what lets them go, what holds them, and what ends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.end.overlap import cancel_pending, request_stop
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish import judge
from routines_app.protocol.publish.outbox import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep.reconcile import release_forgotten

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
HOUR = timedelta(hours=1)


def make(name: str = "report", **values: Any) -> Routine:
    return service.create_routine(name, **({"task": TASK, "every": "10m"} | values))


def waiting(routine: Routine, now: datetime, **values: Any) -> RoutineRun:
    defaults: dict[str, Any] = {
        "routine": routine,
        "task": TASK,
        "pool": routine.pool,
        "scheduled_for": now,
        "eligible_at": now,
        "publish_after": now,
        "idempotency_key": f"waiting:{RoutineRun.objects.count()}",
    }
    return RoutineRun.objects.create(**(defaults | values))


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_a_backfill_of_old_slots_runs_although_runs_expire(policy: str):
    """Its age counts from when it was asked for, in the outbox and at the worker."""
    routine = make(expires_ms=60_000, concurrency_policy=policy)
    now = clock.now()
    service.backfill(routine, now - HOUR, now - HOUR / 2)

    (message, *_) = dispatch_waiting(clock.now())

    assert not RoutineRun.objects.filter(status=RunStatus.SKIPPED).exists()
    run = RoutineRun.objects.get(pk=message.run_id)
    assert isinstance(start(run.pk, "me", lease=False), Started)


def test_a_retry_runs_although_its_slot_is_long_gone():
    """Otherwise a failing chain would end without having failed."""
    now = clock.now()
    run = waiting(make(expires_ms=60_000), now, trigger=RunTrigger.RETRY, scheduled_for=now - HOUR, attempt=2)

    assert len(dispatch_waiting(now)) == 1
    assert isinstance(start(run.pk, "me"), Started)


def test_a_scheduled_run_that_waited_too_long_expires():
    """It is SKIPPED and says why."""
    now = clock.now()
    run = waiting(make(expires_ms=60_000), now, scheduled_for=now - HOUR)

    assert dispatch_waiting(now) == []
    run.refresh_from_db()
    assert (run.status, run.reason) == (RunStatus.SKIPPED, Reason.EXPIRED)


@pytest.mark.parametrize("pool", [None, "db"])
def test_parking_a_paused_routine_does_not_release_what_the_pause_held(pool: str | None):
    """A run that still ran may fail and park the routine: what was held waits for the reset then."""
    now = clock.now()
    Pool.objects.create(name="db", max_concurrent=5)
    routine = make(pool=pool)
    run = waiting(routine, now)
    service.pause_routine(routine)
    Routine.objects.update(status=RoutineStatus.PARKED)
    RoutineState.objects.update(next_run_at=None, next_source="parked")

    assert release_forgotten(now) == 0
    assert admit_pools(now) == []
    RoutineRun.objects.update(publish_after=now)
    assert dispatch_waiting(now) == []
    run.refresh_from_db()
    assert (run.status, run.reason, run.publish_after) == (RunStatus.PENDING, Reason.PARKED, None)

    service.reset_routine(routine)
    assert len([*dispatch_waiting(clock.now()), *admit_pools(clock.now())]) == 1


def test_a_row_that_cannot_be_decided_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """It waits with a reason and is looked at later; the log tells about it once."""
    now = clock.now()
    broken, good = waiting(make("broken"), now), waiting(make("good"), now)
    decide = judge.is_expired

    def fail(trigger: str, *times: Any) -> bool:
        if trigger == RunTrigger.HINT:
            raise OverflowError("out of the calendar")
        return decide(trigger, *times)

    monkeypatch.setattr(judge, "is_expired", fail)
    RoutineRun.objects.filter(pk=broken.pk).update(trigger=RunTrigger.HINT)

    assert [message.run_id for message in dispatch_waiting(now)] == [str(good.pk)]
    broken.refresh_from_db()
    assert (broken.status, broken.reason) == (RunStatus.PENDING, Reason.PUBLISH_FAILED)
    assert broken.publish_after > now
    RoutineRun.objects.filter(pk=broken.pk).update(publish_after=now)
    dispatch_waiting(now)
    assert caplog.text.count("cannot be decided") == 1


def test_several_runs_are_locked_in_the_order_of_their_ids():
    """Two transactions that change the same runs cannot lock each other out."""
    now = clock.now()
    routine = make()
    ids = [waiting(routine, now).pk for _ in range(3)]
    for change in (request_stop, cancel_pending):
        with transaction.atomic(), CaptureQueriesContext(connection) as queries:
            change(ids[::-1], Reason.CANCELLED, now)
        first = queries[0]["sql"]
        assert first.startswith("SELECT")
        assert "ORDER BY" in first
        assert "FOR UPDATE" in first or not connection.features.has_select_for_update
