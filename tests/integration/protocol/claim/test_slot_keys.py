"""Two slots within one millisecond are two rows, and a slot that has a row is not fired again, however old its key."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.claim import new_runs
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import Hours

MICROSECONDS = timedelta(microseconds=1)


@pytest.fixture(params=["in one statement", "portably"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "portably":
        monkeypatch.setattr(new_runs, "is_postgresql", lambda alias: False)


@pytest.fixture
def between(hours: Hours) -> Hours:
    """An interval whose slots are 500 microseconds past the second, and a hint 300 before the next of them."""
    hours.now += 500 * MICROSECONDS
    hours.make(every="1m")
    hours.pass_by(seconds=90)
    slot = RoutineState.objects.get().next_slot
    assert slot is not None
    service.propose_next_time("report", slot - 300 * MICROSECONDS, ttl="1h")
    return hours


def test_a_hint_in_the_same_millisecond_as_a_slot_is_not_lost(between: Hours, either_way: None) -> None:
    """Both are fired, and neither is fired again should the plan ever come back to it."""
    slot = RoutineState.objects.values_list("next_slot", flat=True).get()
    assert slot is not None
    between.pass_by(minutes=5)
    assert between.found() == []
    fired = set(RoutineRun.objects.values_list("id", "scheduled_for"))
    assert {slot, slot + 300 * MICROSECONDS} < {scheduled_for for _, scheduled_for in fired}

    for again in (slot, slot + 300 * MICROSECONDS):
        RoutineState.objects.update(next_slot=again, next_run_at=again, next_source="baseline-interval")
        claim_due(again + timedelta(seconds=1))
        assert set(RoutineRun.objects.values_list("id", "scheduled_for")) == fired


def test_slots_in_one_millisecond_that_will_not_fire_are_both_accounted_for(between: Hours) -> None:
    """A pause that is skipped, an edit and the archive write them too."""
    between.pass_by(minutes=3, beat=False)
    service.archive_routine("report")
    assert between.found() == []
