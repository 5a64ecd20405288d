"""A body that outlives its row: how it ended is nobody's business any more, but when it ended is noted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
import redis
from django.db import OperationalError, connection
from django.forms.models import model_to_dict
from django.utils import timezone

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.execution.executor import Delivery, Executed, execute
from routines_app.execution.request import end_from_parent
from routines_app.models import RoutineRun
from routines_app.protocol.end import outlived
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.outlived import note_body_end
from routines_app.protocol.ledger import clock
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep.orphans import Observer, orphan_silent
from tests.acceptance.ringing import Rung, ring, routine
from tests.integration.conftest import Execute
from tests.integration.execution import tasks
from tests.integration.holding import needs_row_locks, row_locked
from tests.processes import stretched, wait_for

LINGERING = "tests.integration.execution.tasks.lingering"
OVERLAP = timedelta(seconds=1.5)  # the audit overlooks a second: two machines' clocks may differ by that
LATER = 1e9  # in seconds; the observer's clock is the test's


@pytest.fixture
def worker() -> Iterator[Callable[[Rung], Future[Executed]]]:
    """Executes a run in a thread of its own, as a worker beside us would; whatever lingers is let go in the end."""
    tasks.lingers.clear()
    tasks.let_go.clear()

    def run(rung: Rung) -> str:
        try:
            return execute(Delivery(run_id=rung.id, hostname="other@there"))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        try:
            yield lambda rung: executor.submit(run, rung)
        finally:
            tasks.let_go.set()


def orphan(run: Rung, redis_client: redis.Redis) -> bool:
    """A beat hears nothing of a run that lives: its heart is silent, and Redis has forgotten its lease."""
    observer = Observer()
    redis_client.flushdb()
    orphan_silent(observer, timezone.now(), 0)
    return orphan_silent(observer, timezone.now(), LATER) == 1


def abandon(run: Rung, redis_client: redis.Redis) -> bool:
    """A person is wrong about a body."""
    return service.abandon_run(run.id).status == RunStatus.FAILED


@pytest.mark.parametrize(("end", "reason"), [(orphan, Reason.ORPHANED), (abandon, Reason.ABANDONED)])
def test_a_body_that_went_on_beside_the_next_attempt_is_told_by_the_audit(
    end: Callable[[Rung, redis.Redis], bool],
    reason: Reason,
    worker: Callable[[Rung], Future[Executed]],
    run_it: Execute,
    redis_client: redis.Redis,
) -> None:
    """Its row was taken from it while it was healthy; nothing but its own return says how long it has worked."""
    first = ring(routine("alone", task=LINGERING, concurrency_policy="FORBID", max_attempts=2), send=False)
    working = worker(first)
    assert tasks.lingers.wait(30)
    wait_for(lambda: end(first, redis_client), 30, "its row could not be taken from it")
    (second,) = first.retries()
    # The first one's lease is in the way until its worker has noticed that it lost its row.
    wait_for(lambda: run_it(second).status == RunStatus.SUCCESS, 30, "the next attempt did not run", every=0.5)
    second.refresh_from_db()
    assert second.started_at is not None
    assert overlaps() == []

    wait_for(lambda: clock.now() > (second.started_at or clock.now()) + OVERLAP, 30, "time stands still")
    tasks.let_go.set()
    assert working.result(timeout=30).said == "lost"

    assert (first.refresh(), first.row.reason, first.row.result) == (RunStatus.FAILED, reason, None)
    assert first.row.body_ended_at is not None
    assert first.row.body_ended_at >= second.started_at + OVERLAP
    ((count, seconds),) = overlaps()
    assert (count, round(seconds, 3)) == (1, round((first.row.body_ended_at - second.started_at).total_seconds(), 3))


def overlaps() -> list[tuple[int, float]]:
    return [(each.count, each.worst) for each in service.audit("1h").warnings if each.kind == "overlap"]


def lost_run() -> UUID:
    """A run that somebody else has ended, and whose body may still be at work."""
    begun = start(ring(routine("lost", max_attempts=1), send=False).id, "me")
    assert isinstance(begun, Started)
    close_run(begun.facts.id, failed(Reason.ORPHANED, "silent"))
    return begun.facts.id


def test_nothing_but_the_moment_is_written_and_only_once() -> None:
    """Of the outcome nothing is recorded; who comes second (the pool's parent, say) knows it less well."""
    run_id = lost_run()
    before = model_to_dict(RoutineRun.objects.get(id=run_id))
    note_body_end(run_id, 2.0)
    row = RoutineRun.objects.get(id=run_id)
    assert row.body_ended_at is not None
    assert timedelta(seconds=2) <= clock.now() - row.body_ended_at < timedelta(seconds=2 + stretched(5))
    note_body_end(run_id)
    assert model_to_dict(RoutineRun.objects.get(id=run_id)) == before | {"body_ended_at": row.body_ended_at}


def test_what_a_body_raises_then_is_in_the_log(run_it: Execute, caplog: pytest.LogCaptureFixture) -> None:
    """The row has another end, so nothing else would say it."""
    made = routine("ended meanwhile", task="tests.integration.execution.tasks.ended_meanwhile", max_attempts=1)
    row = run_it(ring(made, send=False).row)
    assert row.reason == Reason.ORPHANED
    (said,) = [
        each for each in caplog.records if "was ended by somebody else, and its body failed" in each.getMessage()
    ]
    assert said.levelno == logging.WARNING
    assert "ValueError: too late" in caplog.text


def test_a_run_that_has_not_ended_is_left_alone() -> None:
    begun = start(ring(routine("alive"), send=False).id, "me")
    waits = ring(routine("waits"), send=False)
    assert isinstance(begun, Started)
    for run_id in (begun.facts.id, waits.id):
        note_body_end(run_id)
    assert not RoutineRun.objects.exclude(body_ended_at=None).exists()


def test_a_process_that_dies_after_its_run_was_lost_is_noted_by_its_parent() -> None:
    """Its body did not stop, so its watchdog has ended the process: nobody inside it could say so."""
    run_id = lost_run()
    end_from_parent(run_id, failed(Reason.WORKER_LOST))
    row = RoutineRun.objects.get(id=run_id)
    assert row.reason == Reason.ORPHANED
    assert row.body_ended_at is not None


def test_a_process_that_dies_after_its_run_has_ended_says_nothing_of_the_body(run_it: Execute) -> None:
    """The run's own process has recorded its end: there was no body any more."""
    run = ring(routine("done"), send=False)
    run_it(run.row)
    end_from_parent(run.id, failed(Reason.WORKER_LOST))
    assert run.refresh() == RunStatus.SUCCESS
    assert run.row.body_ended_at is None


def test_a_ledger_that_refuses_it_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is worth a line, and no more: the worker has other runs."""
    run_id = lost_run()

    def refuse(*_: object, **__: object) -> int:
        raise OperationalError("gone")

    monkeypatch.setattr(outlived, "update_if", refuse)
    with caplog.at_level(logging.WARNING):
        note_body_end(run_id)
    assert "could not be noted" in caplog.text
    assert "gone" in caplog.text


@needs_row_locks
def test_a_row_that_somebody_holds_is_not_waited_for() -> None:
    """The place in the worker is wanted by others."""
    run_id = lost_run()
    began = time.monotonic()
    with row_locked(run_id):
        note_body_end(run_id)
    assert time.monotonic() - began < stretched(3)  # MariaDB counts in whole seconds
