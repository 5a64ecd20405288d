"""Routines on one schedule share a claim's decision, and only those do."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core import firing
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol import clock, firings
from routines_app.protocol.claim import claim_due

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


def make_due(late: timedelta) -> None:
    """Give all routines the same slots, the oldest of them that late."""
    slot = clock.now() - late
    last = slot - timedelta(seconds=10)
    RoutineState.objects.update(last_slot=last, next_slot=slot, next_run_at=slot)


def test_equal_schedules_are_decided_once(monkeypatch):
    """Each routine still gets a row of its own, for the same slot."""
    decided = []
    monkeypatch.setattr(firings, "decide_firing", lambda *given: decided.append(given) or firing.decide_firing(*given))
    for name in ("one", "two", "three"):
        service.create_routine(name, task=TASK, every="10s")
    make_due(timedelta(seconds=1))

    assert claim_due(clock.now()).fired == 3
    assert len(decided) == 1
    assert RoutineRun.objects.values("routine").distinct().count() == 3
    assert RoutineRun.objects.values("scheduled_for").distinct().count() == 1


def test_a_different_rule_is_a_different_decision():
    """The same missed slots are skipped for one routine and caught up for the other."""
    service.create_routine("skips", task=TASK, every="10s", misfire_grace_ms=5_000)
    service.create_routine("catches", task=TASK, every="10s", misfire_grace_ms=5_000, catch_up_policy="LAST")
    make_due(timedelta(seconds=17))

    claim_due(clock.now())

    statuses = {name: list(runs_of(name)) for name in ("skips", "catches")}
    assert statuses["skips"] == ["SKIPPED"]
    assert "PENDING" in statuses["catches"]


def runs_of(name: str) -> list[str]:
    return list(RoutineRun.objects.filter(routine__name=name).order_by("id").values_list("status", flat=True))
