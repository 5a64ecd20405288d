"""Abandoning runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.end.finish import Lost, finish
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import succeeded
from tests.integration.conftest import MONDAY
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def overdue_run(routine: Routine, **values: Any) -> RoutineRun:
    return running_run(routine, reason=Reason.OVERDUE, **values)


def test_an_abandoned_run_has_failed_and_its_next_attempt_comes(make: Make) -> None:
    """With who and why; what its body still returns records nothing."""
    run = overdue_run(make(max_attempts=2), fence=1, running_key=None)
    body = facts.load(run.pk)
    assert body is not None
    service.abandon_run(run, reason="its machine is gone", actor="ann")
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.ABANDONED)
    assert run.error == "abandoned by ann: its machine is gone"
    assert RoutineRun.objects.get(retry_of=run).status == RunStatus.PENDING
    assert isinstance(finish(body, succeeded("1")), Lost)
    run.refresh_from_db()
    assert (run.status, run.result) == (RunStatus.FAILED, None)


def test_its_place_in_the_pool_is_free(make: Make) -> None:
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    run = overdue_run(make(max_attempts=1, pool=pool), pool=pool)
    assert service.list_pools()[0].in_flight == 1
    service.abandon_run(str(run.pk))
    assert service.list_pools()[0].in_flight == 0


@pytest.mark.django_db(transaction=True)
def test_its_lease_is_free(redis_url: str) -> None:
    """The routine's next run need not wait until it has run out."""
    routine = service.create_routine("alone", task="tests.acceptance.tasks.note", concurrency_policy="FORBID")
    run = overdue_run(routine, fence=1, running_key=routine.pk)
    leases.acquire(routine.pk, str(run.pk), 30)
    service.abandon_run(run)
    assert leases.holder(routine.pk) is None


def test_who_was_asked_to_stop_was_cancelled(make: Make) -> None:
    """Somebody wanted it to end: there is no next attempt."""
    run = overdue_run(make(), stop_requested_at=MONDAY, stop_reason=Reason.CANCELLED)
    service.abandon_run(run)
    assert (run.status, run.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)
    assert not RoutineRun.objects.filter(retry_of=run).exists()


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED])
def test_only_what_runs_can_be_abandoned(make: Make, status: RunStatus) -> None:
    """The refusal says what the run is, and nothing changes."""
    ended = {} if status == RunStatus.PENDING else {"completed_at": MONDAY, "started_at": MONDAY}
    run = waiting_run(make(), 1, status=status, **ended)
    with pytest.raises(service.NotAllowed, match=f"this one is {status}"):
        service.abandon_run(run)
    run.refresh_from_db()
    assert (run.status, run.reason) == (status, "")
