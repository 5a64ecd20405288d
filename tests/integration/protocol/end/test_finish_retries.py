"""Finishing runs: which ends are followed by another attempt, and what that attempt is."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.end.finish import Lost, finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.end.transaction import Recorded
from routines_app.protocol.record.outcome import cancelled, failed
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import routine
from tests.integration.protocol.end.finishing import BROKEN, begin, retry_of, row, state

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


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
    assert isinstance(ended, Recorded)
    assert ended.retry_id == retry.id
    assert (retry.status, retry.trigger, retry.reason) == (RunStatus.PENDING, RunTrigger.RETRY, Reason.NOT_YET)
    assert (retry.attempt, retry.budget_used, retry.chain, retry.scheduled_for) == (2, 2, run.id, run.scheduled_for)
    assert (retry.args, retry.kwargs, retry.requested_by, retry.pool_id) == ([7], None, "ann", pool.pk)
    assert (retry.admitted_at, retry.dispatched_at) == (None, None)
    assert retry.publish_after == retry.eligible_at
    assert before + timedelta(seconds=59) < retry.eligible_at < before + timedelta(seconds=70)
    assert retry.idempotency_key == run.idempotency_key[:-1] + "2"
    assert state(made).failure_count == 0


@pytest.mark.parametrize(
    ("rule", "retried"),
    [
        ({"no_retry_for": ["ValueError"]}, False),
        ({"retry_for": ["KeyError"]}, False),
        ({"retry_for": ["builtins.ValueError"]}, True),
    ],
)
def test_the_routine_says_which_errors_are_retried(rule: dict[str, Any], retried: bool) -> None:
    """By the short name of the error, or by its full one."""
    run = begin(routine("choosy", **rule))
    finish(run, BROKEN)
    assert (retry_of(run) is not None) == retried


def test_a_delay_and_arguments_that_the_task_asked_for_are_used() -> None:
    """Celery's `self.retry(args=…, countdown=…)` means what it says."""
    run = begin(routine("asking", args=[1]))
    asked = failed(Reason.EXCEPTION, "later", asked_delay_ms=90_000, retry_args=([2], None))
    finish(run, asked)
    retry = retry_of(run)
    assert retry is not None
    assert retry.args == [2]
    assert retry.eligible_at > timezone.now() + timedelta(seconds=80)


def test_the_last_failure_exhausts_the_chain_once() -> None:
    """It counts as one failure of the routine, however often it is said."""
    made = routine("hopeless", max_attempts=2)
    first = begin(made)
    finish(first, BROKEN)
    retry = retry_of(first)
    assert retry is not None
    begun = start(retry.id, "me")
    assert isinstance(begun, Started)
    ended = finish(begun.facts, BROKEN)
    assert isinstance(ended, Recorded)
    assert (ended.exhausted, ended.retry_id) == (True, None)
    assert state(made).failure_count == 1
    assert finish(begun.facts, BROKEN) == Lost()
    assert state(made).failure_count == 1


def test_an_interrupted_run_is_replaced_without_using_up_the_budget() -> None:
    """Three times per chain; after that it costs an attempt, and then the chain has failed."""
    made = routine("deployed", max_attempts=2)
    run = begin(made)
    budgets = []
    while True:
        ended = finish(run, cancelled(Reason.INTERRUPTED))
        assert isinstance(ended, Recorded)
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


def test_a_run_that_was_asked_to_stop_ends_cancelled_and_is_not_retried() -> None:
    """Whatever its last error looks like, also when it would have been the last attempt."""
    for attempts in (3, 1):
        run = begin(routine(f"replaced{attempts}", max_attempts=attempts, concurrency_policy="REPLACE"))
        with transaction.atomic():
            request_stop([run.id], Reason.REPLACED, timezone.now())
        ended = finish(run, BROKEN)
        assert isinstance(ended, Recorded)
        assert (ended.status, ended.reason, ended.retry_id) == (RunStatus.CANCELLED, Reason.REPLACED, None)
        assert ended.exhausted is False
        assert retry_of(run) is None


def test_an_archived_routine_gets_no_retry() -> None:
    """What is archived is over."""
    made = routine("archived")
    run = begin(made)
    Routine.objects.filter(pk=made.pk).update(status=RoutineStatus.ARCHIVED)
    ended = finish(run, BROKEN)
    assert isinstance(ended, Recorded)
    assert ended.retry_id is None
    assert retry_of(run) is None


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
