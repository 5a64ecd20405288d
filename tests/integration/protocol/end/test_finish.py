"""Finishing runs: who may write, what is recorded, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import ANY

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_celery_results.models import TaskResult

from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import Lost, close_run, finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.end.transaction import Recorded
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.protocol.end.finishing import BROKEN, begin, retry_of, row, state

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


def test_the_end_of_a_run_whose_routine_is_gone_is_lost() -> None:
    """A worker that was frozen while its routine was deleted has nothing to record, and nothing to wait for."""
    made = routine("plain", max_attempts=1)
    run = begin(made)
    RoutineRun.objects.all().delete()
    made.delete()
    assert finish(run, failed(Reason.EXCEPTION, "too late")) == Lost()


def test_a_success_is_recorded_and_counted() -> None:
    """On the row, in the state, and in the mirror."""
    made = routine("plain")
    run = begin(made)
    ended = finish(run, succeeded('"done"'))
    assert ended == Recorded(status=RunStatus.SUCCESS, reason="")
    found = row(run)
    assert (found.status, found.result, found.running_key) == (RunStatus.SUCCESS, "done", None)
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


def test_the_lease_is_given_back_and_only_ones_own() -> None:
    """Whoever has lost the row must not take the lease of the next one away."""
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
    assert isinstance(ended, Recorded)
    assert (row(run).reason, row(run).error) == (Reason.WORKER_LOST, "signal 9")
    assert retry_of(run) is not None
    assert close_run(run.id, failed(Reason.WORKER_LOST)) == Lost()


def test_progress_that_was_not_written_yet_comes_with_the_end() -> None:
    """The last step is not lost."""
    run = begin(routine("progressing"))
    finish(run, Outcome(status=RunStatus.SUCCESS, progress={"done": 3, "total": 3, "note": "x"}))
    assert row(run).progress == {"done": 3, "total": 3, "note": "x"}


def test_what_the_canceller_said_stays_on_the_row() -> None:
    """The end does not write over it."""
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


@pytest.mark.usefixtures("measured_clock")
def test_a_successful_run_costs_few_statements() -> None:
    """On PostgreSQL start and finish, the mirror included; elsewhere whole transactions."""

    def cycle(run: RoutineRun) -> None:
        begun = start(run.id, "me")
        assert isinstance(begun, Started)
        finish(begun.facts, succeeded("1"))

    for keep_result in (True, False):
        made = routine(f"cheap{keep_result}", keep_result=keep_result)
        cycle(ring(made, send=False))  # prepares what a connection prepares once
        run = ring(made, send=False)
        assert statements(lambda: cycle(run)) <= (2 if connection.vendor == "postgresql" else 30)  # noqa: B023
