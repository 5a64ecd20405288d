"""What a beat does after the commit of an end that it has written: it waits for nobody there either."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone
from django_celery_results.models import TaskResult

from routines_app import signals
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.record import told
from routines_app.protocol.upkeep.orphans import orphan_runs
from routines_app.protocol.upkeep.untold import tell_untold
from tests.acceptance.ringing import routine
from tests.integration.holding import needs_row_locks, row_locked, stranger
from tests.integration.protocol.end.finishing import begin

pytestmark = [pytest.mark.usefixtures("ledger", "short_lived_threads"), needs_row_locks]

SOON = 10.0  # seconds: without a limit it would be as long as the row is held


def orphan(run_id: UUID) -> list[UUID]:
    """What a beat does, here in a thread, that has seen this run silent for long."""
    try:
        return orphan_runs([run_id], timezone.now())
    finally:
        connection.close()


def test_a_run_that_somebody_holds_once_its_end_was_told_is_told_once_more() -> None:
    """Here a task of the receiver's own has locked the row: that the end was told cannot be noted."""
    run, ended, locked = begin(routine("plain")), Event(), Event()
    heard: list[UUID] = []

    def receiver(run: RoutineRun, **_: Any) -> None:
        heard.append(run.id)
        ended.set()
        assert locked.wait(SOON)

    signals.run_failed.connect(receiver)
    try:
        with ThreadPoolExecutor(1) as beat:
            orphaned = beat.submit(orphan, run.id)
            assert ended.wait(SOON)
            with row_locked(run.id):
                locked.set()
                assert orphaned.result(SOON) == [run.id]
        assert tell_untold(told.deadline(timezone.now())) == 1
    finally:
        signals.run_failed.disconnect(receiver)
    assert heard == [run.id, run.id]


def test_a_mirrored_record_that_somebody_holds_is_left_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """A copy is not worth a beat's time; the log says that it was not written."""
    run = begin(routine("plain"))
    TaskResult.objects.create(task_id=str(run.id), status="STARTED")
    with ThreadPoolExecutor(1) as beat, record_locked(run.id):
        assert beat.submit(orphan, run.id).result(SOON) == [run.id]
    assert RoutineRun.objects.get(id=run.id).status == RunStatus.FAILED
    assert TaskResult.objects.get(task_id=str(run.id)).status == "STARTED"
    assert "could not be mirrored" in caplog.text


@contextmanager
def record_locked(run_id: UUID) -> Iterator[None]:
    with stranger() as other, other.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_celery_results_taskresult WHERE task_id = %s FOR UPDATE", [str(run_id)])
        cursor.fetchall()
        yield
