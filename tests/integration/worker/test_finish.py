"""Finishing runs: who may write, what is counted, what comes next."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_celery_results.models import TaskResult

from routines_app import service
from routines_app.coordination import leases
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger, Source
from routines_app.models import ChangeKind, Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol import clock
from routines_app.protocol.ending import Ended
from routines_app.protocol.facts import RunFacts
from routines_app.protocol.finish import Lost, close_run, finish
from routines_app.protocol.outcome import Outcome, cancelled, failed, succeeded
from routines_app.protocol.overlap import request_stop
from routines_app.protocol.start import Started, start
from tests.acceptance.ringing import ring, routine

BROKEN = failed(Reason.EXCEPTION, "ValueError: no", exception_names=("ValueError", "builtins.ValueError"))


def begin(made: Routine, **fields: Any) -> RunFacts:
    begun = start(ring(made, send=False, **fields).id, "me")
    assert isinstance(begun, Started)
    return begun.facts


def row(run: RunFacts) -> RoutineRun:
    return RoutineRun.objects.get(id=run.id)


def state(made: Routine) -> RoutineState:
    return RoutineState.objects.get(pk=made.pk)


def retry_of(run: RunFacts) -> RoutineRun | None:
    return RoutineRun.objects.filter(retry_of_id=run.id).first()


def test_a_success_is_recorded_and_counted() -> None:
    made = routine("plain")
    run = begin(made)
    ended = finish(run, succeeded('"done"'))
    assert ended == Ended(status=RunStatus.SUCCESS, reason="")
    found = row(run)
    assert (found.status, found.result, found.running_key) == (RunStatus.SUCCESS, '"done"', None)
    assert found.completed_at is not None
    assert state(made).last_success_at is not None
    assert state(made).last_run_at is not None
    assert TaskResult.objects.get(task_id=run.id).result == '"done"'


def test_whoever_comes_second_changes_nothing() -> None:
    """Parent and child, watchdog and reconciler race: the compare-and-set decides."""
    made = routine("plain")
    run = begin(made)
    finish(run, BROKEN)
    assert finish(run, succeeded("1")) == Lost()
    assert row(run).status == RunStatus.FAILED
    assert RoutineRun.objects.filter(chain=run.id).count() == 1
    assert state(made).last_success_at is None


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_a_failure_makes_one_retry_row(policy: str) -> None:
    """Same slot and arguments, next attempt, eligible after the delay, in the routine's present pool."""
    pool = Pool.objects.create(name="pool", max_concurrent=1)
    made = routine("flaky", retry_delay_ms=60_000, concurrency_policy=policy)
    run = begin(made, args=[7], requested_by="ann")
    Routine.objects.filter(pk=made.pk).update(pool=pool)
    before = timezone.now()
    ended = finish(run, BROKEN)
    retry = retry_of(run)
    assert retry is not None
    assert isinstance(ended, Ended)
    assert ended.retry_id == retry.id
    assert (retry.status, retry.trigger, retry.reason) == (RunStatus.PENDING, RunTrigger.RETRY, Reason.NOT_YET)
    assert (retry.attempt, retry.budget_used, retry.chain, retry.scheduled_for) == (2, 2, run.id, run.scheduled_for)
    assert (retry.args, retry.kwargs, retry.requested_by, retry.pool_id) == ([7], None, "ann", pool.pk)
    assert (retry.admitted_at, retry.dispatched_at) == (None, None)
    assert retry.publish_after == retry.eligible_at
    assert before + timedelta(seconds=59) < retry.eligible_at < before + timedelta(seconds=70)
    assert retry.idempotency_key == run.idempotency_key[:-1] + "2"
    assert state(made).failure_count == 0


def test_a_routine_that_is_archived_under_a_finish_gets_no_retry() -> None:
    """The finish waits for the state's lock, and must decide by what the archiving has left behind."""
    made = routine("retiring")
    run = begin(made)

    def fail() -> None:
        try:
            finish(run, BROKEN)
        finally:
            connection.close()

    failing = threading.Thread(target=fail)
    with transaction.atomic():
        service.archive_routine(made)
        failing.start()
        failing.join(0.5)
        assert failing.is_alive()
    failing.join(10)
    assert row(run).status == RunStatus.FAILED
    assert retry_of(run) is None


def test_the_last_failure_exhausts_the_chain_once() -> None:
    made = routine("hopeless", max_attempts=2)
    first = begin(made)
    finish(first, BROKEN)
    retry = retry_of(first)
    assert retry is not None
    begun = start(retry.id, "me")
    assert isinstance(begun, Started)
    ended = finish(begun.facts, BROKEN)
    assert isinstance(ended, Ended)
    assert (ended.exhausted, ended.retry_id) == (True, None)
    assert state(made).failure_count == 1
    assert finish(begun.facts, BROKEN) == Lost()
    assert state(made).failure_count == 1


@pytest.mark.parametrize(
    ("rule", "retried"),
    [
        ({"no_retry_for": ["ValueError"]}, False),
        ({"retry_for": ["KeyError"]}, False),
        ({"retry_for": ["builtins.ValueError"]}, True),
    ],
)
def test_the_routine_says_which_errors_are_retried(rule: dict[str, Any], retried: bool) -> None:
    run = begin(routine("choosy", **rule))
    finish(run, BROKEN)
    assert (retry_of(run) is not None) == retried


def test_a_delay_and_arguments_that_the_task_asked_for_are_used() -> None:
    run = begin(routine("asking", args=[1]))
    asked = failed(Reason.EXCEPTION, "later", asked_delay_ms=90_000, retry_args=([2], None))
    finish(run, asked)
    retry = retry_of(run)
    assert retry is not None
    assert retry.args == [2]
    assert retry.eligible_at > timezone.now() + timedelta(seconds=80)


def test_enough_failed_chains_park_the_routine() -> None:
    """Not picked again until somebody resets it; the history says why."""
    made = routine("parked", max_attempts=1, park_after=2, trigger_kind="INTERVAL", interval_ms=60_000, status="ACTIVE")
    later = timezone.now() + timedelta(minutes=1)
    RoutineState.objects.filter(pk=made.pk).update(
        next_slot=later, next_run_at=later, next_source=Source.BASELINE_INTERVAL, last_slot=timezone.now()
    )
    ends = [finish(begin(made), BROKEN) for _ in range(2)]
    assert [isinstance(end, Ended) and bool(end.parked) for end in ends] == [False, True]
    made.refresh_from_db()
    assert (made.status, made.pause_reason) == (RoutineStatus.PARKED, "2 failed chains in a row")
    assert (state(made).next_run_at, state(made).next_source) == (None, Source.PARKED)
    assert ScheduleChange.objects.filter(routine=made, kind=ChangeKind.PARKED).count() == 1


def test_an_interval_backs_off_with_failures_and_recovers_with_the_first_success() -> None:
    """And every move of the plan is in the schedule's history."""
    anchor = timezone.now().replace(microsecond=0)
    made = routine("polling", max_attempts=1, trigger_kind="INTERVAL", interval_ms=3_600_000)
    planned = anchor + timedelta(hours=1)
    RoutineState.objects.filter(pk=made.pk).update(
        last_slot=anchor, next_slot=planned, next_run_at=planned, next_source=Source.BASELINE_INTERVAL
    )
    finish(begin(made), BROKEN)
    assert state(made).next_slot == state(made).next_run_at == anchor + timedelta(hours=2)
    finish(begin(made), BROKEN)
    assert state(made).next_slot == anchor + timedelta(hours=4)
    finish(begin(made), succeeded(None))
    assert (state(made).next_slot, state(made).failure_count) == (planned, 0)
    changes = ScheduleChange.objects.filter(routine=made, kind=ChangeKind.REPLANNED)
    assert [change.next_slot for change in changes.order_by("id")] == [
        anchor + timedelta(hours=2),
        anchor + timedelta(hours=4),
        planned,
    ]


def test_a_success_beside_a_failure_still_recovers() -> None:
    """Two runs overlap: the one that succeeds did not know, when it started, that the other would fail."""
    anchor = timezone.now().replace(microsecond=0)
    made = routine("polling", max_attempts=1, trigger_kind="INTERVAL", interval_ms=3_600_000)
    RoutineState.objects.filter(pk=made.pk).update(
        last_slot=anchor,
        next_slot=anchor + timedelta(hours=1),
        next_run_at=anchor + timedelta(hours=1),
        next_source=Source.BASELINE_INTERVAL,
    )
    good, bad = begin(made), begin(made)
    finish(bad, BROKEN)
    finish(good, succeeded(None))
    assert (state(made).failure_count, state(made).next_slot) == (0, anchor + timedelta(hours=1))


def test_a_run_that_was_asked_to_stop_ends_cancelled_and_is_not_retried() -> None:
    """Whatever its last error looks like, also when it would have been the last attempt."""
    for attempts in (3, 1):
        run = begin(routine(f"replaced{attempts}", max_attempts=attempts, concurrency_policy="REPLACE"))
        with transaction.atomic():
            request_stop([run.id], Reason.REPLACED, timezone.now())
        ended = finish(run, BROKEN)
        assert isinstance(ended, Ended)
        assert (ended.status, ended.reason, ended.retry_id) == (RunStatus.CANCELLED, Reason.REPLACED, None)
        assert ended.exhausted is False
        assert retry_of(run) is None


def test_an_interrupted_run_is_replaced_without_using_up_the_budget() -> None:
    """Three times per chain; after that it costs an attempt, and then the chain has failed."""
    made = routine("deployed", max_attempts=2)
    run = begin(made)
    budgets = []
    while True:
        ended = finish(run, cancelled(Reason.INTERRUPTED))
        assert isinstance(ended, Ended)
        if ended.retry_id is None:
            break
        assert ended.status == RunStatus.CANCELLED
        retry = RoutineRun.objects.get(id=ended.retry_id)
        budgets.append(retry.budget_used)
        begun = start(retry.id, "me")
        assert isinstance(begun, Started)
        run = begun.facts
    assert budgets == [1, 1, 1, 2, 2, 2, 2][: len(budgets)]
    assert budgets.count(1) == 3
    assert (ended.status, ended.reason, ended.exhausted) == (RunStatus.FAILED, Reason.INTERRUPTED, True)


def test_an_archived_routine_gets_no_retry() -> None:
    made = routine("archived")
    run = begin(made)
    Routine.objects.filter(pk=made.pk).update(status=RoutineStatus.ARCHIVED)
    ended = finish(run, BROKEN)
    assert isinstance(ended, Ended)
    assert ended.retry_id is None
    assert retry_of(run) is None


@pytest.mark.parametrize("known_at_start", [True, False])
def test_the_end_of_a_chain_lets_an_all_catch_up_go_on(known_at_start: bool) -> None:
    """A retry is not the end of the chain."""
    made = routine("catching", trigger_kind="CRON", cron="* * * * *", max_attempts=2)

    def catch_up() -> None:
        slot = timezone.now() - timedelta(hours=1)
        RoutineState.objects.filter(pk=made.pk).update(next_slot=slot, next_source=Source.CATCHING_UP)

    if known_at_start:
        catch_up()
    run = begin(made)
    if not known_at_start:
        catch_up()
    finish(run, BROKEN)
    assert state(made).next_run_at is None
    retry = retry_of(run)
    assert retry is not None
    begun = start(retry.id, "me")
    assert isinstance(begun, Started)
    finish(begun.facts, succeeded(None))
    assert (state(made).next_run_at, state(made).next_source) == (ANY, Source.BASELINE_CRON)
    assert state(made).next_run_at is not None


def test_the_end_of_a_replaced_run_lets_its_replacement_go() -> None:
    made = routine("newest", concurrency_policy="REPLACE")
    run = begin(made)
    later = timezone.now() + timedelta(seconds=20)
    waiting = ring(made, send=False, dispatched_at=None, admitted_at=None, publish_after=later, reason=Reason.REPLACING)
    with transaction.atomic():
        request_stop([run.id], Reason.REPLACED, timezone.now())
    finish(run, cancelled(Reason.REPLACED))
    waiting.refresh()
    assert waiting.row.publish_after is not None
    assert waiting.row.publish_after <= timezone.now()


def test_the_lease_is_given_back_and_only_ones_own() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    run = begin(made)
    finish(run, succeeded(None))
    assert leases.holder(made.pk) is None
    leases.acquire(made.pk, "somebody else", 30)
    assert finish(run, succeeded(None)) == Lost()
    assert leases.holder(made.pk) == ("somebody else", ANY)


def test_a_run_can_be_ended_from_outside() -> None:
    """A parent that saw its child die knows nothing but the id."""
    made = routine("plain")
    run = begin(made)
    ended = close_run(run.id, failed(Reason.WORKER_LOST, "signal 9"))
    assert isinstance(ended, Ended)
    assert (row(run).reason, row(run).error) == (Reason.WORKER_LOST, "signal 9")
    assert retry_of(run) is not None
    assert close_run(run.id, failed(Reason.WORKER_LOST)) == Lost()


def test_progress_that_was_not_written_yet_comes_with_the_end() -> None:
    run = begin(routine("progressing"))
    finish(run, Outcome(status=RunStatus.SUCCESS, progress={"done": 3, "total": 3, "note": "x"}))
    assert row(run).progress == {"done": 3, "total": 3, "note": "x"}


def test_what_the_canceller_said_stays_on_the_row() -> None:
    run = begin(routine("plain"))
    with transaction.atomic():
        request_stop([run.id], Reason.CANCELLED, timezone.now())
    RoutineRun.objects.filter(id=run.id).update(error="cancelled by ann: enough")
    finish(run, cancelled(Reason.CANCELLED))
    assert row(run).error == "cancelled by ann: enough"


def statements(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as queries:
        act()
    return len(queries)


def test_a_successful_run_costs_few_statements() -> None:
    """On PostgreSQL start and finish, the mirror included; elsewhere whole transactions."""
    clock.now()  # asks the database for its time once in 30 s

    def cycle(run: RoutineRun) -> None:
        begun = start(run.id, "me")
        assert isinstance(begun, Started)
        finish(begun.facts, succeeded("1"))

    for keep_result in (True, False):
        made = routine(f"cheap{keep_result}", keep_result=keep_result)
        cycle(ring(made, send=False))  # prepares what a connection prepares once
        run = ring(made, send=False)
        assert statements(lambda: cycle(run)) <= (2 if connection.vendor == "postgresql" else 30)  # noqa: B023
