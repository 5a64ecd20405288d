"""A start that waits for its row while the routine's policy changes: what it knew when it began is no longer true."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest
from django.db import connection, transaction

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.locks import lock_run, lock_state
from routines_app.protocol.run.start import Refused, Start, Started, start
from tests.acceptance.ringing import Rung, ring, routine
from tests.integration.holding import somebody_waits
from tests.processes import wait_for

T = TypeVar("T")

pytestmark = [
    pytest.mark.usefixtures("ledger", "short_lived_threads"),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="one transaction writes at a time"),
]


@contextmanager
def waiting(run: Rung) -> Iterator[Future[Start]]:
    """A worker starts the run and waits, for as long as the block lasts, for a stranger who has its row.

    Where starts lock the state, he has that too.
    """
    locked, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            if connection.vendor != "postgresql":
                lock_state(run.row.routine_id)
            lock_run(RoutineRun.objects.all(), run.id)
            locked.set()
            let_go.wait(30)

    with ThreadPoolExecutor(2) as executor:
        holding = executor.submit(closing(hold))
        locked.wait(30)
        begun = executor.submit(closing(lambda: start(run.id, "waiting")))
        try:
            wait_for(somebody_waits, 10, "the start does not wait")
            yield begun
        finally:
            let_go.set()
            holding.result()


def closing(act: Callable[[], T]) -> Callable[[], T]:
    """In a thread of its own."""

    def closed() -> T:
        try:
            return act()
        finally:
            connection.close()

    return closed


def forbid(made: Routine) -> None:
    """As an edit in SQL does it, so that it does not wait for the state."""
    Routine.objects.filter(pk=made.pk).update(concurrency_policy="FORBID")


def forbid_and_run(made: Routine) -> None:
    """As if another worker had been quick: an exclusive run of the routine is RUNNING by now."""
    forbid(made)
    RoutineRun.objects.filter(pk=ring(made, send=False).id).update(
        status=RunStatus.RUNNING, started_at=made.created_at, running_key=made.pk, fence=1
    )


@pytest.mark.parametrize("meanwhile", [forbid, forbid_and_run])
def test_a_start_that_waited_keeps_to_the_policy_of_its_end(meanwhile: Callable[[Routine], None]) -> None:
    """The edit was committed before the run began: it begins as an exclusive one, or not at all."""
    made = routine("edited")
    run = ring(made, send=False)
    with waiting(run) as begun:
        meanwhile(made)
    found = begun.result()
    run.refresh()
    if meanwhile is forbid:
        assert isinstance(found, Started)
        assert (run.row.running_key, run.row.fence) == (made.pk, 1)
    else:
        assert found == Refused(Reason.KEY_TAKEN)
        assert RoutineRun.objects.filter(status=RunStatus.RUNNING).count() == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="elsewhere starts wait for the state, as edits do")
def test_a_start_that_waits_for_its_row_keeps_nobody_from_editing_the_routine() -> None:
    """It would be a deadlock with a verb that has the run and wants the routine."""
    made = routine("edited")
    run = ring(made, send=False)
    with waiting(run) as begun, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = 500")
        Routine.objects.filter(pk=made.pk).update(description="quickly")
    assert isinstance(begun.result(), Started)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="elsewhere starts wait for the state, as edits do")
def test_a_start_does_not_wait_for_an_edit_that_is_not_over() -> None:
    """Its run is handed back: a worker's place is not for waiting."""
    made = routine("edited")
    run = ring(made, send=False)
    with ThreadPoolExecutor(1) as executor, transaction.atomic():
        service.update_routine(made, concurrency_policy="FORBID")
        begun = executor.submit(closing(lambda: start(run.id, "me")))
        assert begun.result(timeout=10) == Refused(Reason.ROUTINE_HELD)
    assert run.refresh() == RunStatus.PENDING
