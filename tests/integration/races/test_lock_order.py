"""Everybody who updates several runs takes their locks in the order of the ids: two who do cannot deadlock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from routines_app import service
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end.transaction import let_replacement_go
from routines_app.protocol.ledger import timeouts
from routines_app.protocol.plan.held import hold_runs, release_held_runs
from routines_app.protocol.publish import outbox
from tests.integration.conftest import NOTE
from tests.integration.holding import held, needs_postgresql, somebody_waits, stranger
from tests.processes import wait_for

pytestmark = [pytest.mark.usefixtures("ledger"), needs_postgresql]

PATIENT_MS = 30_000
# Rows are found as they lie in the table, not through an index that happens to have them in order.
UNORDERED = "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off"


def waiting_runs(routine: Routine, count: int) -> list[RoutineRun]:
    now = timezone.now() - timedelta(seconds=1)
    values = {"trigger": "schedule", "task": NOTE, "scheduled_for": now, "eligible_at": now, "admitted_at": now}
    made = [
        RoutineRun.objects.create(routine=routine, idempotency_key=f"s:{number}", reason="replacing", **values)
        for number in range(count)
    ]
    # Written anew, the first one lies behind the others in the table, where an update that does not lock finds it last.
    RoutineRun.objects.filter(pk=made[0].pk).update(progress={"moved": True})
    return made


def stamp(routine: Routine) -> object:
    return outbox.stamp([str(pk) for pk in RoutineRun.objects.values_list("pk", flat=True)], timezone.now())


def let_go(routine: Routine) -> object:
    return let_replacement_go("default", routine.pk, timezone.now())


def hold(routine: Routine) -> object:
    return hold_runs([routine.pk], timezone.now())


def release(routine: Routine) -> object:
    return release_held_runs([routine.pk], timezone.now())


@pytest.mark.parametrize("act", [stamp, hold, release, let_go])
def test_nothing_is_locked_before_the_first_one(
    act: Callable[[Routine], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for the first run, which somebody holds, the others are free."""
    monkeypatch.setattr(outbox, "bounded", partial(timeouts.bounded, lock_ms=PATIENT_MS))
    routine = service.create_routine("line", task=NOTE)
    first, *others = waiting_runs(routine, 4)

    def do() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(UNORDERED)
                act(routine)
        finally:
            connection.close()

    thread = threading.Thread(target=do)
    with held("routinerun", "id", [first.pk]):
        thread.start()
        wait_for(somebody_waits, 20, "it did not wait for the first")
        with stranger() as other, other.cursor() as cursor:
            cursor.execute("SELECT id FROM routines_routinerun WHERE id <> %s FOR UPDATE SKIP LOCKED", [first.pk])
            assert {run_id for (run_id,) in cursor.fetchall()} == {run.pk for run in others}
    thread.join()
