"""Rows with times that are none, and that nobody would ever look at again: the upkeep ends them or mends them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.upkeep import reconcile, unplanned
from routines_app.protocol.upkeep.orphans import Observer, orphan_runs
from routines_app.protocol.upkeep.unplanned import cancel_unreadable, park_unplanned
from tests.acceptance.ringing import ring, routine
from tests.integration.conftest import NOTE
from tests.integration.holding import held, needs_postgresql, row_locked
from tests.integration.protocol.end.finishing import begin

pytestmark = [pytest.mark.usefixtures("ledger", "short_lived_threads"), needs_postgresql]

UNSENT = {"admitted_at": None, "dispatched_at": None}


def spoil(table: str, key: str, value: object, **times: str) -> None:
    with connection.cursor() as cursor:
        for column, moment in times.items():
            cursor.execute(f"UPDATE routines_{table} SET {column} = %s WHERE {key} = %s", [moment, value])


@pytest.mark.parametrize(
    ("unsent", "column", "value"),
    [
        (True, "publish_after", "infinity"),
        (False, "publish_after", "infinity"),
        (False, "dispatched_at", "infinity"),
        (False, "dispatched_at", "-infinity"),
        (False, "eligible_at", "infinity"),
        (False, "scheduled_for", "-infinity"),
        (False, "admitted_at", "infinity"),
    ],
)
def test_a_waiting_run_that_nobody_would_look_at_is_cancelled(unsent: bool, column: str, value: str) -> None:
    """With the reason; its exclusive routine goes on, and a sound run beside it is left alone."""
    alone = routine("alone", concurrency_policy="FORBID")
    stuck = ring(alone, send=False, **UNSENT if unsent else {})
    sound = ring(routine("sound"), send=False)
    spoil("routinerun", "id", stuck.id, **{column: value})
    assert dispatch_waiting(timezone.now()) == []

    assert cancel_unreadable(timezone.now()) == 1
    assert cancel_unreadable(timezone.now()) == 0
    row = RoutineRun.objects.get(id=stuck.id)
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)
    assert column in row.error
    assert sound.refresh() == RunStatus.PENDING
    assert service.run_now(alone).status == RunStatus.PENDING


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("routinerun", "scheduled_for"),
        ("routinerun", "started_at"),
        ("routinerun", "dispatched_at"),
        ("routine", "created_at"),
        ("routinestate", "last_success_at"),
    ],
)
@pytest.mark.parametrize("attempts", [1, 3])
def test_an_orphan_that_cannot_be_read_is_mended_and_ended(table: str, column: str, attempts: int) -> None:
    """In the same pass, whether its chain ends with it or goes on."""
    run = begin(routine("broken", max_attempts=attempts))
    key = {"routinerun": ("id", run.id), "routine": ("id", run.routine_id)}.get(table, ("routine_id", run.routine_id))
    spoil(table, *key, **{column: "infinity"})
    assert orphan_runs([run.id], timezone.now()) == [run.id]
    statuses = RoutineRun.objects.order_by("attempt").values_list("status", flat=True)
    assert list(statuses) == [RunStatus.FAILED, RunStatus.PENDING][:attempts]


def test_every_pass_of_the_upkeep_looks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how many there were."""
    monkeypatch.setattr(reconcile, "has_turn", lambda: True)
    made = service.create_routine("broken", task=NOTE, every="1m")
    spoil("routinestate", "routine_id", made.pk, next_run_at="infinity")
    spoil("routinerun", "id", ring(made, send=False).id, dispatched_at="infinity")
    report = reconcile.reconcile_once(timezone.now(), Observer(), 0.0)
    assert (report.parked, report.cancelled) == (1, 1)


def test_one_that_somebody_holds_undoes_none_of_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, and mended when it is free."""
    monkeypatch.setattr(unplanned, "BUSY_SECONDS", 60.0)  # of a busy machine: a pass would leave the rest to the next
    made = [service.create_routine(name, task=NOTE, every="1m") for name in ("held", "free", "free too")]
    runs = [ring(each, send=False) for each in made]
    for each, run in zip(made, runs, strict=True):
        spoil("routinestate", "routine_id", each.pk, next_run_at="infinity")
        spoil("routinerun", "id", run.id, dispatched_at="infinity")
    with held("routine", "id", [made[0].pk]), row_locked(runs[0].id):
        assert [park_unplanned(timezone.now()), park_unplanned(timezone.now())] == [2, 0]
        assert [cancel_unreadable(timezone.now()), cancel_unreadable(timezone.now())] == [2, 0]
        assert len([line for line in caplog.messages if "could not be mended now" in line]) == 2
    assert (park_unplanned(timezone.now()), cancel_unreadable(timezone.now())) == (1, 1)
    assert set(Routine.objects.values_list("status", flat=True)) == {"PARKED"}
