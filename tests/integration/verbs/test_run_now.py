"""Runs that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import InterfaceError, transaction

from routines_app import service, signals
from routines_app.core.admission import LOOK_AGAIN
from routines_app.core.errors import NotAllowed
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.outcome import cancelled
from tests.integration.conftest import MONDAY, NOTE, Current, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def test_a_run_is_written_ready_to_be_sent_and_the_schedule_does_not_move(make: Make) -> None:
    """The row is the outbox: if its creator cannot send it, a beat does in a moment."""
    routine = make(every="1h", args=[1])
    before = RoutineState.objects.values().get()
    run = service.run_now(routine, requested_by="ann")
    stored = RoutineRun.objects.get()
    assert (stored.pk, stored.status, stored.trigger) == (run.pk, RunStatus.PENDING, RunTrigger.MANUAL)
    assert (stored.scheduled_for, stored.admitted_at, stored.requested_by) == (MONDAY, MONDAY, "ann")
    assert stored.publish_after == MONDAY + timedelta(seconds=1.5)
    assert (stored.args, stored.kwargs) == (None, None)
    assert RoutineState.objects.values().get() == before


def test_without_a_broker_a_run_is_refused(make: Make, current: Current) -> None:
    """Celery would send it to RabbitMQ on this machine, where no worker of the project looks."""
    made = service.run_now(make())
    current(Celery("default", set_as_current=False))
    for ask in (lambda: service.run_now("report"), lambda: service.retry_run(made)):
        with pytest.raises(NotAllowed, match=r"no Celery app with a broker .* import it in project/__init__\.py"):
            ask()
    assert RoutineRun.objects.count() == 1


def messages(client: redis.Redis) -> int:
    """How many messages are in the default queue, over all its priorities."""
    return sum(client.llen(key) for key in client.keys("celery*"))


@pytest.mark.django_db(transaction=True)
def test_a_run_is_in_the_broker_after_the_commit_and_not_before(redis_client: redis.Redis) -> None:
    """Publishing waits for the caller's own transaction."""
    service.create_routine("report", task=NOTE)
    with transaction.atomic():
        run = service.run_now("report")
        assert messages(redis_client) == 0
    assert messages(redis_client) == 1
    run.refresh_from_db()
    assert run.dispatched_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_request_that_is_rolled_back_leaves_neither_row_nor_message(redis_client: redis.Redis) -> None:
    """What a web request asked for and did not commit was never asked for."""
    service.create_routine("report", task=NOTE)
    with transaction.atomic():
        service.run_now("report")
        transaction.set_rollback(True)
    assert (RoutineRun.objects.count(), messages(redis_client)) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_is_not_the_callers_problem(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request succeeds, and the row waits for a beat."""
    from routines_app.coordination.broker import BrokerAway
    from routines_app.protocol.publish import outbox

    class Away:
        def publish(self, messages: object) -> None:
            raise BrokerAway("refused")

    monkeypatch.setattr(outbox, "broker", Away)
    service.create_routine("report", task=NOTE)
    run = service.run_now("report")
    run.refresh_from_db()
    assert (run.status, run.dispatched_at) == (RunStatus.PENDING, None)
    assert run.publish_after is not None


def test_own_arguments_are_stored_with_the_run(make: Make) -> None:
    """They are checked like a routine's."""
    routine = make(args=[1], kwargs={"a": 1})
    run = service.run_now(routine, args=(2,), kwargs={"b": 2})
    run.refresh_from_db()
    assert (run.args, run.kwargs) == ([2], {"b": 2})
    with pytest.raises(service.InvalidValue, match="args"):
        service.run_now(routine, args=[float("nan")])


def test_an_active_forbid_routine_gives_a_skipped_run(make: Make, django_capture_on_commit_callbacks: Any) -> None:
    """Overlap is recorded, and told."""
    routine = make(concurrency_policy="FORBID")
    waiting_run(routine, 1)
    told: list[Any] = []

    def receive(run: RoutineRun, reason: str, **_: Any) -> None:
        told.append((run.pk, reason))

    signals.run_skipped.connect(receive)
    with django_capture_on_commit_callbacks(execute=True):
        run = service.run_now(routine)
    signals.run_skipped.disconnect(receive)
    assert (run.status, run.reason, run.completed_at) == (RunStatus.SKIPPED, Reason.OVERLAP, MONDAY)
    assert told == [(run.pk, Reason.OVERLAP)]


def test_replace_asks_the_running_run_to_stop_and_waits_for_it(make: Make) -> None:
    """What waits is cancelled at once; the new run is held until the old one is gone or the grace is over."""
    routine = make(concurrency_policy="REPLACE")
    running, waiting = running_run(routine, 1), waiting_run(routine, 2)
    run = service.run_now(routine)
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.stop_requested_at, running.stop_reason) == (MONDAY, Reason.REPLACED)
    assert (waiting.status, waiting.reason) == (RunStatus.CANCELLED, Reason.REPLACED)
    assert (run.status, run.reason, run.admitted_at) == (RunStatus.PENDING, Reason.REPLACING, None)
    assert run.publish_after == MONDAY + LOOK_AGAIN


def test_replace_of_waiting_runs_goes_out_at_once(make: Make) -> None:
    """Nothing runs, so there is nothing to wait for."""
    routine = make(concurrency_policy="REPLACE")
    waiting_run(routine, 1)
    assert service.run_now(routine).admitted_at == MONDAY


def test_a_second_replace_does_not_restart_the_grace(make: Make, time: Time) -> None:
    """The running run was asked once; a request of its own replaces the one before it."""
    routine = make(concurrency_policy="REPLACE")
    running = running_run(routine)
    first = service.run_now(routine)
    time.pass_by(seconds=3)
    second = service.run_now(routine, idempotency_key="another")
    running.refresh_from_db()
    first.refresh_from_db()
    assert running.stop_requested_at == MONDAY
    assert (first.status, second.status, second.reason) == (RunStatus.CANCELLED, RunStatus.PENDING, Reason.REPLACING)


@pytest.mark.parametrize("pool", [None, "db"])
def test_an_active_queue_routine_gives_a_run_that_waits(make: Make, pool: str | None) -> None:
    """It leaves what waits alone, and does not queue for its pool before its turn."""
    Pool.objects.create(name="db", max_concurrent=1)
    routine = make(concurrency_policy="QUEUE", pool=pool)
    running, waiting = running_run(routine, 1), waiting_run(routine, 2)
    run = service.run_now(routine)
    assert (run.status, run.reason, run.admitted_at) == (RunStatus.PENDING, Reason.OVERLAP, None)
    assert run.publish_after == MONDAY + LOOK_AGAIN
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.stop_requested_at, waiting.status) == (None, RunStatus.PENDING)


def test_a_pooled_run_waits_for_its_pool(make: Make) -> None:
    """Only the pool's lock lets it through."""
    Pool.objects.create(name="slow", max_concurrent=1)
    run = service.run_now(make(pool="slow"))
    assert (run.admitted_at, run.publish_after, run.reason) == (None, None, Reason.CEILING)


@pytest.mark.django_db(transaction=True)
def test_a_pool_with_room_takes_the_run_after_the_commit(redis_client: redis.Redis) -> None:
    """The first goes out, the second waits, and who asks a third time is told of the second."""
    Pool.objects.create(name="slow", max_concurrent=1)
    service.create_routine("report", task=NOTE, pool="slow")
    first, second = service.run_now("report"), service.run_now("report")
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.dispatched_at is not None
    assert (second.dispatched_at, second.admitted_at, second.reason) == (None, None, Reason.CEILING)
    assert service.run_now("report").pk == second.pk


@pytest.mark.parametrize("status", [RoutineStatus.PAUSED, RoutineStatus.PARKED])
def test_paused_and_parked_routines_run_when_asked(make: Make, status: RoutineStatus) -> None:
    """A person's request comes before both."""
    routine = make(every="1h")
    Routine.objects.update(status=status)
    assert service.run_now(routine.pk).admitted_at is not None


def test_a_run_can_be_run_again_with_its_arguments(make: Make) -> None:
    """A new manual run, asked for by whoever pressed the button."""
    first = service.run_now(make(), args=[1], kwargs={"a": 2})
    assert service.retry_run(first).pk == first.pk, "it has not gone out: there is nothing to repeat"
    RoutineRun.objects.update(dispatched_at=MONDAY)
    again = service.retry_run(first.pk, requested_by="ann")
    assert (again.args, again.kwargs, again.trigger, again.requested_by) == ([1], {"a": 2}, RunTrigger.MANUAL, "ann")
    assert again.pk != first.pk


@pytest.mark.parametrize("change", [{"task": "tests.acceptance.tasks.fail"}, {"queue": "theirs"}])
def test_secrets_of_a_run_do_not_get_into_other_hands(make: Make, change: dict[str, str]) -> None:
    """Whoever has changed the routine has chosen who would get them; without secrets there is nothing to get."""
    routine = make()
    secret, harmless = service.run_now(routine, kwargs={"token": "x"}), service.run_now(routine, kwargs={"n": 1})
    service.update_routine(routine, **change)
    with pytest.raises(NotAllowed, match=f"another {next(iter(change))} than its routine"):
        service.retry_run(secret)
    assert service.retry_run(harmless).kwargs == {"n": 1}


def test_arguments_of_a_run_are_not_put_beside_secrets_of_later(make: Make) -> None:
    """What was given for one part is kept with the other part of that time; rows from before that are refused."""
    routine = make(kwargs={"n": 1})
    run = service.run_now(routine, args=["http://attacker/"])
    assert run.kwargs == {"n": 1}
    service.update_routine(routine, kwargs={"token": "x"})
    assert service.retry_run(run).kwargs == {"n": 1}
    RoutineRun.objects.filter(pk=run.pk).update(kwargs=None)
    with pytest.raises(NotAllowed, match="some of its arguments are its routine's, and hidden"):
        service.retry_run(run)


@pytest.mark.parametrize("error", [InterfaceError("connection already closed"), KeyError("queue")])
def test_a_run_that_cannot_be_sent_is_no_error_of_the_caller(
    make: Make, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any, error: Exception
) -> None:
    """It is committed; whatever goes wrong while sending it, a beat finds it."""

    def fail(messages: object) -> bool:
        raise error

    monkeypatch.setattr(outbox, "send", fail)
    routine = make()
    with django_capture_on_commit_callbacks(execute=True):
        run = service.run_now(routine)
    run.refresh_from_db()
    assert (run.status, run.dispatched_at) == (RunStatus.PENDING, None)


def test_a_run_held_by_a_body_that_cannot_be_stopped_goes_when_that_ends(make: Make, time: Time) -> None:
    """Its wait ends with the other run, not with the grace."""
    routine = make(concurrency_policy="REPLACE")
    overdue = running_run(routine, reason=Reason.OVERDUE, stop_requested_at=MONDAY, running_key=routine.pk)
    held = service.run_now(routine)
    assert held.reason == Reason.OVERDUE
    time.pass_by(seconds=3)
    close_run(overdue.pk, cancelled(Reason.REPLACED))
    held.refresh_from_db()
    assert held.publish_after == time.now
