"""Ticks of many members, ticks that fail, and members that were busy already: how much one claim does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from routines_app.core.rotation import MOST_BUDGET
from routines_app.core.words import MemberStatus, Reason, RunStatus, RunTrigger
from routines_app.models import Rotation, RotationMember, RoutineRun, RoutineState
from routines_app.protocol.claim import tick as one_tick
from routines_app.protocol.claim import ticks
from routines_app.protocol.claim.claim import claim_due, set_aside
from routines_app.protocol.rotate.members import WRITTEN_AT_ONCE
from tests.integration.conftest import MONDAY
from tests.integration.protocol.rotate.rows import a_rotation, member, members_of, runs_of, set_member, tick_of
from tests.integration.verbs.rows import waiting_run

pytestmark = pytest.mark.usefixtures("ledger", "time")

MINUTE = MONDAY + timedelta(minutes=1)


def test_a_tick_of_very_many_picks_a_thousand_in_statements_of_bounded_size() -> None:
    """A budget beyond what the verbs accept, by plain SQL, say: the rest is for the next tick."""
    rotation = a_rotation(budget=3_000, max_in_flight=9_000)
    members_of(rotation, MOST_BUDGET + 5)
    with CaptureQueriesContext(connection) as captured:
        tick = tick_of(rotation)
    assert len(runs_of(tick)) == len(tick.result["picked"]) == MOST_BUDGET
    flying = RotationMember.objects.filter(status=MemberStatus.IN_FLIGHT)
    assert set(flying.values_list("pk", "run")) == {(run.routine_id, run.pk) for run in runs_of(tick)}
    updates = [each["sql"] for each in captured.captured_queries if "rotationmember" in each["sql"]]
    assert max(sql.count("WHEN") for sql in updates) <= WRITTEN_AT_ONCE * 9
    assert len(runs_of(tick_of(rotation))) == 5


def test_ticks_of_one_claim_share_how_many_runs_they_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "RUNS_AT_ONCE", 5)
    budgets = {"large": 9, "three": 3, "two": 2, "four": 4}
    rotations = [a_rotation(name, budget=budget, max_in_flight=99) for name, budget in budgets.items()]
    for rotation in rotations:
        members_of(rotation, 10)
    reports = [claim_due(MINUTE) for _ in range(4)]
    assert [(report.claimed, report.fired, report.left) for report in reports] == [
        (1, 9, True),
        (2, 5, True),
        (1, 4, False),
        (0, 0, False),
    ]
    assert set(Rotation.objects.values_list("ticks", flat=True)) == {1}


def test_ticks_that_are_left_out_while_idle_are_done_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "RUNS_AT_ONCE", 5)
    for name in "abc":
        a_rotation(name, budget=5, max_in_flight=5, skip_ticks=1, idle_multiplier=2)
    assert claim_due(MINUTE).claimed == 3


@pytest.mark.parametrize("error", [DatabaseError("refused"), RuntimeError("broken")])
def test_a_tick_that_fails_is_set_aside_or_parked_and_the_others_of_its_batch_fire(
    make: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    bad, good = a_rotation("bad"), a_rotation("good")
    plain = make("plain", every="1m")
    for rotation in (bad, good):
        members_of(rotation, 1)
    look = one_tick.pick_members

    def pick_members(rotation: Rotation, *args: Any, **known: Any) -> Any:
        if rotation.pk == bad.pk:
            raise error
        return look(rotation, *args, **known)

    monkeypatch.setattr(one_tick, "pick_members", pick_members)
    try:
        claim_due(MINUTE)
        fired = RoutineRun.objects.exclude(trigger=RunTrigger.ROTATION).values_list("routine_id", "status")
        assert set(fired) == {(good.pk, RunStatus.SUCCESS), (plain.pk, RunStatus.PENDING)}
        assert member_statuses(bad) == [MemberStatus.OWED]
        assert set_aside.ids == [bad.pk]
    finally:
        set_aside.over([bad.pk])


def member_statuses(rotation: Rotation) -> list[str]:
    return list(RotationMember.objects.filter(rotation=rotation).values_list("status", flat=True))


def test_a_member_whose_routine_still_runs_something_else_is_in_flight_with_that_and_takes_room() -> None:
    rotation = a_rotation(budget=3, max_in_flight=2)
    first, second, third = members_of(rotation, 3)
    set_member(second, attempted_at=MONDAY - timedelta(hours=2))
    set_member(third, attempted_at=MONDAY - timedelta(hours=1))
    other = waiting_run(first, 1)
    tick = tick_of(rotation)
    assert [run.routine_id for run in runs_of(tick)] == [second.pk]
    assert tick.result["adopted"] == [first.pk]
    assert (member(first).status, member(first).run) == (MemberStatus.IN_FLIGHT, other.pk)
    assert member(third).status == MemberStatus.OWED
    assert tick_of(rotation).reason == Reason.FULL


def test_a_tick_that_only_finds_busy_ones_is_full_and_does_not_idle() -> None:
    rotation = a_rotation()
    first, second = members_of(rotation, 2)
    set_member(second, attempted_at=MONDAY - timedelta(hours=1))
    waiting_run(first, 1)
    tick = tick_of(rotation)
    assert (tick.status, tick.reason, runs_of(tick)) == (RunStatus.SKIPPED, Reason.FULL, [])
    rotation.refresh_from_db()
    assert (rotation.idle_multiplier, rotation.skip_ticks) == (1, 0)
    assert RoutineState.objects.get(pk=rotation.pk).last_run_at is None


def test_what_a_tick_adopted_is_spent_when_it_is_filled_up() -> None:
    rotation = a_rotation(budget=2, max_in_flight=9)
    first, second, third = members_of(rotation, 3)
    set_member(third, status=MemberStatus.FRESH, due_at=MINUTE)
    for number, routine in enumerate((first, second)):
        waiting_run(routine, number)
    tick = tick_of(rotation)
    assert tick.result["adopted"] == [first.pk, second.pk]
    set_member(third, status=MemberStatus.OWED)
    assert one_tick.fill(tick.pk, MONDAY) == 0
