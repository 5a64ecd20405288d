"""Cancelling runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service, signals
from routines_app.coordination.wakeups import STOPS, Listener
from routines_app.core.words import Reason, RunStatus, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def test_a_pending_run_ends_at_once_and_it_is_told(make: Make, django_capture_on_commit_callbacks: Any) -> None:
    """CANCELLED, with who and why; the signal comes after the commit."""
    run = waiting_run(make(), 1)
    told: list[Any] = []

    def receive(run: RoutineRun, **_: Any) -> None:
        told.append(run.pk)

    signals.run_cancelled.connect(receive)
    with django_capture_on_commit_callbacks(execute=True):
        service.cancel_run(run, reason="not needed", actor="ann")
    signals.run_cancelled.disconnect(receive)
    assert (run.status, run.reason, run.completed_at) == (RunStatus.CANCELLED, Reason.CANCELLED, MONDAY)
    assert (run.error, run.publish_after) == ("cancelled by ann: not needed", None)
    assert told == [run.pk]


def test_a_running_run_is_asked_to_stop(make: Make) -> None:
    """It stays RUNNING until its body has stopped; the first request counts."""
    run = running_run(make())
    cancelled = service.cancel_run(str(run.pk), reason="too slow")
    assert (cancelled.status, cancelled.stop_requested_at) == (RunStatus.RUNNING, MONDAY)
    assert cancelled.stop_reason == Reason.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_the_workers_hear_of_a_stop_at_once(redis_url: str) -> None:
    """The request goes out on the stop channel after the commit."""
    run = running_run(service.create_routine("report", task=NOTE))
    listener = Listener(STOPS)
    listener.wait(0.1)
    service.cancel_run(run)
    assert listener.wait(1) == [str(run.pk)]
    listener.close()


@pytest.mark.parametrize("status", [RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.SKIPPED, RunStatus.CANCELLED])
def test_a_run_that_has_ended_cannot_be_cancelled(make: Make, status: RunStatus) -> None:
    """The refusal says what the run is."""
    run = waiting_run(make(), 1, status=status, completed_at=MONDAY, started_at=MONDAY)
    with pytest.raises(service.NotAllowed, match=f"this one is {status}"):
        service.cancel_run(run)
    run.refresh_from_db()
    assert run.reason == ""


def test_what_is_not_a_run_is_refused(db: None) -> None:
    """An id that is none, and one that nobody has."""
    with pytest.raises(service.InvalidValue, match="UUID"):
        service.cancel_run("report")
    with pytest.raises(service.NotFound, match="pruned"):
        service.cancel_run("01890000-0000-7000-8000-000000000000")


def test_cancelling_the_run_of_an_all_catch_up_lets_the_next_one_go(make: Make, time: Time) -> None:
    """The catch-up must not hang on a chain that ended by hand."""
    make(cron="0 * * * *", catch_up_policy="ALL", misfire_grace_ms=0)
    time.pass_by(hours=3)
    claim_due(time.now)
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.next_source) == (None, Source.CATCHING_UP)
    service.cancel_run(RoutineRun.objects.get())
    state.refresh_from_db()
    assert (state.next_run_at, state.next_source) == (time.now, Source.BASELINE_CRON)


def test_an_all_catch_up_waits_while_another_run_of_the_routine_is_active(make: Make, time: Time) -> None:
    """One at a time: the end of the last active run is what lets it go on."""
    routine = make(every="1h", catch_up_policy="ALL", misfire_grace_ms=0)
    time.pass_by(hours=3)
    claim_due(time.now)
    caught_up, other = RoutineRun.objects.get(), waiting_run(routine, 1)
    service.cancel_run(caught_up)
    assert RoutineState.objects.get().next_source == Source.CATCHING_UP
    service.cancel_run(other)
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.next_source) == (time.now, Source.BASELINE_INTERVAL)


def test_an_all_catch_up_whose_schedule_ended_ends_with_its_last_chain(make: Make, time: Time) -> None:
    """Nothing is left to look at after the last missed slot."""
    make(every="1h", end_at=MONDAY + timedelta(hours=2), catch_up_policy="ALL", misfire_grace_ms=0)
    time.pass_by(hours=5)
    for _ in range(2):
        claim_due(time.now)
        service.cancel_run(RoutineRun.objects.get(status=RunStatus.PENDING))
    claim_due(time.now)
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.next_source) == (None, Source.ENDED)
    assert RoutineRun.objects.count() == 2
