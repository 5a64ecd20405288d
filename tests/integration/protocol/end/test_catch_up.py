"""Catch-ups that nobody told to go on: found among many, and without waiting for anybody's lock."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connections

from routines_app import service
from routines_app.core.words import Source
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.end.catch_up import continue_after
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql
from routines_app.protocol.upkeep import reconcile

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


def catching_up(name: str, *, active: bool) -> RoutineState:
    routine = service.create_routine(name, task=TASK, every="10s", catch_up_policy="ALL")
    RoutineState.objects.filter(pk=routine.pk).update(next_run_at=None, next_source=Source.CATCHING_UP)
    if active:
        now = clock.now()
        RoutineRun.objects.create(
            routine=routine, task=TASK, scheduled_for=now, eligible_at=now, idempotency_key=f"active:{name}"
        )
    return RoutineState.objects.get(pk=routine.pk)


def test_catch_ups_that_still_run_do_not_hide_a_forgotten_one(monkeypatch: pytest.MonkeyPatch):
    """The pass reads a bounded number of states: those that wait for a run of theirs are not among them."""
    monkeypatch.setattr(reconcile, "REPAIRED_AT_ONCE", 2)
    for name in ("a", "b"):
        catching_up(name, active=True)
    forgotten = catching_up("forgotten", active=False)

    assert reconcile.continue_forgotten(clock.now()) == 1
    forgotten.refresh_from_db()
    assert forgotten.next_source == Source.BASELINE_INTERVAL


def test_a_locked_state_is_left_to_the_next_pass():
    """A tick does not wait for a lock that somebody may hold for long."""
    states = [catching_up(name, active=False) for name in ("locked", "free")]
    now = clock.now()
    other = connections.create_connection("default")
    if not is_postgresql("default"):
        return  # one writer at a time: there is no lock of a single row to leave out
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM routines_routinestate WHERE routine_id = %s FOR UPDATE", [states[0].pk])
        assert continue_after([state.pk for state in states], now) == 1
        other.rollback()
    finally:
        other.close()
    assert continue_after([state.pk for state in states], now + timedelta(seconds=1)) == 1
