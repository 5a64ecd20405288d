"""The end of a run meets others at the same row: each waits for the other's row lock at most, never for its index."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection, transaction
from django.utils import timezone

from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.end import transaction as ends
from routines_app.protocol.end.finish import finish, mark_overdue
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.begin import Starter, own
from routines_app.protocol.run.heartbeat import beat_heart
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.holding import somebody_waits
from tests.processes import wait_for

pytestmark = [
    pytest.mark.usefixtures("ledger", "short_lived_threads"),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="one transaction writes at a time"),
]


def begin(count: int) -> list[RunFacts]:
    """Beside a history: only then does a database that knows how many there are of each status go by that index."""
    made = routine("history")
    now = timezone.now()
    ended = {"task": made.task, "status": RunStatus.SUCCESS, "started_at": now, "completed_at": now}
    RoutineRun.objects.bulk_create(
        RoutineRun(routine=made, scheduled_for=now, eligible_at=now, idempotency_key=f"history:{at}", **ended)
        for at in range(1_000)
    )
    begun = [start(ring(routine(f"busy{at}", max_attempts=1), send=False).id, "me") for at in range(count)]
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE TABLE routines_routinerun")
            cursor.fetchall()
    return [one.facts for one in begun if isinstance(one, Started)]


def beat(runs: list[RunFacts]) -> object:
    return beat_heart({run.id: {"done": 1} for run in runs})


def ask_to_stop(runs: list[RunFacts]) -> object:
    with transaction.atomic():
        return request_stop([run.id for run in runs], Reason.CANCELLED, timezone.now())


def mark_as_overdue(runs: list[RunFacts]) -> object:
    return [mark_overdue(run) for run in runs]


def take_over(runs: list[RunFacts]) -> object:
    return [own(run.id, Starter(worker="me", token=run.start_token or new_run_id())) for run in runs]


@pytest.mark.parametrize("act", [beat, ask_to_stop, mark_as_overdue, take_over])
def test_an_end_and_what_concerns_many_runs_do_not_deadlock(act: Callable[[list[RunFacts]], object]) -> None:
    """The end has locked its run when the other comes, and changes the status after that."""
    runs = begin(8)
    ended = runs[3]
    locked, go_on = threading.Event(), threading.Event()
    write = ends._write_run

    def write_later(row: RoutineRun, *rest: Any) -> None:
        locked.set()
        go_on.wait(30)
        write(row, *rest)

    def closing(call: Callable[[], object]) -> None:
        try:
            call()
        finally:
            connection.close()

    with patch.object(ends, "_write_run", write_later), ThreadPoolExecutor(2) as executor:
        ending = executor.submit(closing, lambda: finish(ended, failed(Reason.EXCEPTION, "no")))
        assert locked.wait(30), "the end did not come to its run"
        acting = executor.submit(closing, lambda: act(runs))
        try:
            wait_for(lambda: acting.done() or somebody_waits(), 10, "the other neither waits nor ends")
        finally:
            go_on.set()
        ending.result(timeout=30)
        acting.result(timeout=30)
    assert RoutineRun.objects.get(id=ended.id).status == RunStatus.FAILED
