"""Kinds of triggers that nobody taught the machinery: plain SQL stored one, or a new one is missing somewhere.

The database refuses such words by a constraint; these tests take it away, as somebody's migration might.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from routines_app import service
from routines_app.core.errors import InvalidValue
from routines_app.core.words import BASELINE, Source, TriggerKind
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end import catch_up
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan import planning

TASK = "tests.acceptance.tasks.note"
CONSTRAINTS = ("routine_trigger_is_known", "routine_has_what_its_trigger_needs")


@pytest.fixture
def unchecked(db: None) -> Iterator[None]:
    """A database that stores any kind of trigger, until the end of the test."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for name in CONSTRAINTS:
                cursor.execute(f"ALTER TABLE routines_routine DROP CONSTRAINT {name}")  # the rollback brings it back
        else:
            off, on = {
                "sqlite": ("PRAGMA ignore_check_constraints = ON", "PRAGMA ignore_check_constraints = OFF"),
                "mysql": ("SET check_constraint_checks = OFF", "SET check_constraint_checks = ON"),
            }[connection.vendor]
            cursor.execute(off)
    yield
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(on)


def make(**stored: Any) -> Routine:
    """An interval of a minute with a slot that is due, and what plain SQL made of it."""
    routine = service.create_routine("odd", task=TASK, every="1m")
    now = clock.now()
    RoutineState.objects.update(next_slot=now, next_run_at=now)
    Routine.objects.update(**stored)
    return Routine.objects.get(pk=routine.pk)


UNUSABLE = [{"trigger_kind": "WEEKLY"}, {"interval_ms": None}]


@pytest.mark.parametrize("stored", UNUSABLE)
def test_a_trigger_that_is_none_is_parked_with_the_reason(unchecked: None, stored: dict[str, Any]) -> None:
    """It is not taken for a MANUAL one that has nothing to do, which would fire no more and say nothing."""
    make(**stored)

    claim_due(clock.now())

    routine = Routine.objects.get()
    assert routine.status == "PARKED"
    assert next(iter(stored)) in routine.pause_reason


@pytest.mark.parametrize("planned_so", [False, True])
@pytest.mark.parametrize("stored", UNUSABLE)
def test_such_a_routine_can_be_paused_mended_and_archived(
    unchecked: None, stored: dict[str, Any], *, planned_so: bool
) -> None:
    routine = make(**stored)
    if planned_so:
        RoutineState.objects.update(fingerprint=planning.fingerprint_of(routine))

    service.pause_routine("odd")
    service.update_routine("odd", cron="*/5 * * * *")
    service.resume_routine("odd")
    assert Routine.objects.get().status == "ACTIVE"
    Routine.objects.update(**{"cron": "", "interval_ms": 60_000, "trigger_kind": "INTERVAL"} | stored)
    service.archive_routine("odd")

    assert Routine.objects.get().status == "ARCHIVED"
    assert [run.status for run in RoutineRun.objects.all()] == ["SKIPPED"]


def test_an_edit_that_leaves_the_trigger_alone_says_what_is_wrong_with_it(unchecked: None) -> None:
    make(trigger_kind="WEEKLY")
    with pytest.raises(InvalidValue, match="trigger_kind: 'WEEKLY'"):
        service.update_routine("odd", timeout_ms=5_000)


def test_a_catch_up_of_a_kind_that_is_none_goes_on_to_be_parked(unchecked: None) -> None:
    """Its chain has ended: it is not left asleep, and not counted by an interval that it does not have."""
    make(trigger_kind="WEEKLY")
    RoutineState.objects.update(next_run_at=None, next_source=Source.CATCHING_UP)

    assert catch_up.continue_catch_up([Routine.objects.get().pk], clock.now()) == 1
    claim_due(clock.now())

    assert Routine.objects.get().status == "PARKED"
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize("kind", TriggerKind)
def test_a_catch_up_goes_on_by_what_its_kind_counts_by(db: None, kind: TriggerKind) -> None:
    now = clock.now()
    once = {"at": now + timedelta(minutes=1)}
    trigger = {"CRON": {"cron": "* * * * *"}, "INTERVAL": {"every": "1m"}, "ONCE": once, "MANUAL": {}}[kind]
    routine = service.create_routine("late", task=TASK, catch_up_policy="ALL", **trigger)
    RoutineState.objects.update(next_slot=now, next_run_at=None, next_source=Source.CATCHING_UP)

    catch_up.continue_catch_up([routine.pk], now)

    expected = BASELINE[kind] or "baseline-interval"  # a MANUAL one counts by its hint's interval
    assert RoutineState.objects.values_list("next_run_at", "next_source").get() == (now, expected)


def test_a_kind_that_the_table_does_not_know_is_an_error_and_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    taught = {kind: source for kind, source in BASELINE.items() if kind is not TriggerKind.INTERVAL}
    monkeypatch.setattr(planning, "BASELINE", taught)
    with pytest.raises(KeyError, match="INTERVAL"):
        planning.baseline_source(Routine(trigger_kind="INTERVAL"))


def test_a_kind_that_has_no_trigger_yet_is_an_error_and_not_manual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "kind_of", lambda routine: "WEEKLY")
    with pytest.raises(AssertionError, match="WEEKLY"):
        planning.trigger_of(Routine(), RoutineState())
