"""Ticks that had less to pick than their budget, and pick the rest when their seeding has found more."""

from __future__ import annotations

import pytest

from routines_app.core.words import Reason, RunStatus
from routines_app.protocol.claim.tick import fill
from tests.integration.conftest import MONDAY
from tests.integration.hearing import hearing
from tests.integration.protocol.rotate.rows import a_rotation, idle_of, members_of, runs_of, tick_of

pytestmark = pytest.mark.usefixtures("ledger", "time")


def test_a_tick_that_picked_less_than_its_budget_is_filled_up_once(unsent: list[str]) -> None:
    rotation = a_rotation(budget=3, max_in_flight=3)
    members_of(rotation, 1)
    tick = tick_of(rotation)
    assert fill(tick.pk, MONDAY) == 0
    members_of(rotation, 5, prefix="seeded")
    assert fill(tick.pk, MONDAY) == 2
    assert fill(tick.pk, MONDAY) == 0
    tick.refresh_from_db()
    assert len(runs_of(tick)) == len(tick.result["picked"]) == 3
    assert len(unsent) == 2
    assert set(unsent) < {str(run.pk) for run in runs_of(tick)}


@pytest.mark.usefixtures("unsent")
def test_an_idle_tick_that_is_filled_up_has_picked_and_the_rotation_is_awake() -> None:
    rotation = a_rotation()
    tick = tick_of(rotation)
    assert (tick.reason, idle_of(rotation)) == (Reason.IDLE, (1, 2, 1))
    members_of(rotation, 2)
    with hearing() as heard:
        assert [fill(tick.pk, MONDAY) for _ in range(2)] == [1, 0]
    assert [(name, facts["run"].pk) for name, facts in heard] == [("run_succeeded", tick.pk)]
    tick.refresh_from_db()
    assert (tick.status, tick.reason, idle_of(rotation)) == (RunStatus.SUCCESS, Reason.PICKED, (1, 1, 0))
    assert tick.result["owed"] == 1
    tick_of(rotation)
    assert fill(tick.pk, MONDAY) == 0
