"""What somebody asked for by hand, after its first attempt has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.start import Started, start
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db


def fail(run: RoutineRun) -> RoutineRun:
    """The run has begun, and its body raises; the next attempt."""
    begun = {"status": RunStatus.RUNNING, "started_at": MONDAY, "admitted_at": MONDAY, "publish_after": None}
    RoutineRun.objects.filter(pk=run.pk).update(**begun)
    close_run(run.pk, failed(Reason.EXCEPTION, "no"))
    return RoutineRun.objects.get(retry_of=run.pk)


def test_its_retry_runs_on_a_paused_routine_too(make: Make, time: Time) -> None:
    """It is judged, let through and started like the request itself; a retry that nobody asked for is held."""
    retried: dict[str, Any] = {"retry_delay_ms": 1_000, "retry_jitter": 0}
    asked = fail(service.run_now(make("asked", **retried)))
    by_itself = fail(service.run_now(make("by itself", **retried)))
    RoutineRun.objects.filter(pk=by_itself.pk).update(requested_at=None)
    for name in ("asked", "by itself"):
        service.pause_routine(name)
    assert (asked.trigger, asked.requested_at) == (RunTrigger.RETRY, MONDAY)
    time.pass_by(seconds=2)
    assert [message.routine for message in dispatch_waiting(time.now)] == ["asked"]
    assert isinstance(start(asked.pk, "me"), Started)
    by_itself.refresh_from_db()
    assert (by_itself.admitted_at, by_itself.reason) == (None, Reason.PAUSED)


def test_its_retry_keeps_its_place(make: Make, time: Time) -> None:
    """Before what was asked for later, although that could have gone sooner."""
    pool = service.create_pool("db", max_concurrent=1)
    retry = fail(service.run_now(make("first", pool=pool, retry_delay_ms=10_000, retry_jitter=0)))
    time.pass_by(seconds=5)
    later = service.run_now(make("later", pool=pool, priority="HIGH"))
    time.pass_by(seconds=10)
    dispatch_waiting(time.now)
    assert [run.run_id for run in service.queue(pool).overrides] == [retry.pk, later.pk]
    assert [message.run_id for message in admit_pools(time.now)] == [str(retry.pk)]
