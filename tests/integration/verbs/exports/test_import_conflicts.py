"""Importing beside others: conflicts, and what comes after the commit."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from routines_app import service
from routines_app.models import Rotation, Routine
from routines_app.verbs.exports import applying, importing
from tests.integration.conftest import NOTE
from tests.integration.holding import held, needs_row_locks, somebody_waits, stranger
from tests.processes import wait_for

DATA = {"format": 1, "routines": {"report": {"task": NOTE}}}


class Conflicts:
    """Writes, and finds itself in a deadlock so many times."""

    def __init__(self, times: int) -> None:
        self.left, self._write = times, importing._write

    def __call__(self, *given: Any) -> None:
        self._write(*given)
        if self.left:
            self.left -= 1
            raise OperationalError from Exception(1213, "deadlock")


@pytest.mark.usefixtures("ledger")
def test_an_import_that_meets_others_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    conflicts = Conflicts(1)
    monkeypatch.setattr(importing, "_write", conflicts)
    service.import_routines(DATA)
    assert (conflicts.left, Routine.objects.count()) == (0, 1)


@pytest.mark.usefixtures("ledger")
def test_inside_of_a_transaction_the_caller_does_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else is in there is lost, too."""
    conflicts = Conflicts(2)
    monkeypatch.setattr(importing, "_write", conflicts)
    with pytest.raises(OperationalError), transaction.atomic():
        service.import_routines(DATA)
    assert (conflicts.left, Routine.objects.count()) == (1, 0)


@pytest.mark.usefixtures("ledger")
def test_an_import_that_is_done_does_not_fail_afterwards(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """How long members stay fresh is told to them after the commit, by batches."""
    service.create_rotation("feeds")

    def crash(*_: Any) -> None:
        raise RuntimeError("no members today")

    monkeypatch.setattr(applying, "stay_fresh", crash)
    service.import_routines({"format": 1, "rotations": {"feeds": {"fresh_for": "2d"}}})
    assert Rotation.objects.get().fresh_for_ms == 172_800_000
    assert "no members today" in caplog.text


@needs_row_locks
@pytest.mark.usefixtures("ledger")
def test_an_import_that_waits_for_a_routine_holds_no_pool() -> None:
    """States come before pools, for everybody: a run that is asked for has its state, and wants its pool's key."""
    pool, routine = service.create_pool("few", max_concurrent=1), service.create_routine("report", task=NOTE)
    data = {"format": 1, "pools": {"few": {"max_concurrent": 2}}, "routines": {"report": {"task": NOTE, "group": "x"}}}

    def do() -> None:
        try:
            service.import_routines(data)
        finally:
            connection.close()

    thread = threading.Thread(target=do)
    with held("routinestate", "routine_id", [routine.pk]):
        thread.start()
        wait_for(somebody_waits, 20, "it did not wait for the state")
        with stranger() as other, other.cursor() as cursor:
            cursor.execute("SELECT id FROM routines_pool FOR UPDATE SKIP LOCKED")
            free = [pool_id for (pool_id,) in cursor.fetchall()]
    thread.join()
    pool.refresh_from_db()
    assert (free, pool.max_concurrent) == ([pool.pk], 2)
