"""How a rotation stands, the stalest by hand, ticks by hand, and members that are touched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from routines_app import service
from routines_app.core.errors import InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine, ScheduleChange
from routines_app.verbs.rotations import counting
from tests.integration.conftest import NOTE, Time

pytestmark = pytest.mark.django_db

PHASES = [{"name": "plan", "task": NOTE}, {"name": "build", "task": NOTE}]


@pytest.fixture
def feeds(time: Time) -> Rotation:
    rotation = service.create_rotation("feeds", task=NOTE, budget=2)
    service.add_members(rotation, ["a", "b", "c", "d", "e"])
    return rotation


def stand(name: str, **values: Any) -> None:
    RotationMember.objects.filter(routine__name=name).update(**values)


def why(status: service.RotationStatus) -> dict[str, str]:
    return {pick.name: pick.why for pick in status.next_picks}


def test_the_status_counts_each_member_once_and_says_whom_it_picks_and_why(feeds: Rotation, time: Time) -> None:
    Rotation.objects.update(phases=PHASES)
    now = time.pass_by(days=1)
    hour = timedelta(hours=1)
    stand("a", phase=1, attempted_at=now - hour)
    stand("b", attempted_at=now - 3 * hour, failures=2)
    stand("c", status=MemberStatus.FRESH, due_at=now + hour, attempted_at=now, stale_since=now)
    stand("d", status=MemberStatus.FAILED, retry_tick=10, failures=1)
    service.pause_routine("d")
    status = service.rotation_status("feeds")
    counted = (status.members, status.owed, status.in_flight, status.fresh, status.failing, status.left_out)
    assert counted == (5, 3, 0, 1, 0, 1)
    assert (status.stalest, status.stalest_seconds, status.median_seconds) == ("a", 86_400.0, 86_400.0)
    assert [(pick.name, pick.phase, pick.phase_number, pick.phases) for pick in status.next_picks] == [
        ("a", "build", 1, 2),
        ("e", "plan", 0, 2),
        ("b", "plan", 0, 2),
    ]
    assert why(status) == {
        "a": "its cycle is under way: build comes after plan",
        "e": "never run, number 2 of 3 that are owed",
        "b": "last tried 3h ago, failed 2 times and has waited its ticks, number 3 of 3 that are owed",
    }
    assert status.next_tick_at == feeds.routine.state.next_run_at
    assert (status.last_tick, status.last_seeding, status.under_way) == (None, None, [])
    assert len(service.rotation_status("feeds", picks=1).next_picks) == 1


def test_the_next_picks_are_those_that_the_next_tick_picks(feeds: Rotation, time: Time) -> None:
    now = time.pass_by(hours=1)
    for hours, name in enumerate("abcde"):
        stand(name, attempted_at=now - timedelta(hours=10 - hours))
    service.update_routine("e", priority="HIGH")
    service.update_routine("d", priority="LOW")
    promised = service.rotation_status(feeds, picks=2)
    assert why(promised)["e"] == "its priority is HIGH, last tried 6h ago, the first of 5 that are owed"
    tick = service.tick_rotation(feeds, requested_by="ada")
    assert (tick.status, tick.reason, tick.requested_by) == ("SUCCESS", "picked", "ada")
    assert [each["name"] for each in tick.result["picked"]] == [pick.name for pick in promised.next_picks] == ["e", "a"]
    status = service.rotation_status(feeds)
    assert (status.in_flight, status.last_tick) == (2, tick)
    assert {(pick.name, pick.why) for pick in status.under_way} == {("e", "it is under way"), ("a", "it is under way")}


def test_an_empty_rotation_has_no_stalest(time: Time) -> None:
    status = service.rotation_status(service.create_rotation("bare"))
    assert (status.members, status.stalest, status.stalest_seconds, status.median_seconds) == (0, None, None, None)
    assert service.tick_rotation("bare").reason == "idle"


def test_numbers_of_very_many_may_be_some_seconds_old(
    feeds: Rotation, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks again and again shares them; who does not say so gets what is there, and so do those with few."""
    stand("a", status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))

    def owed(max_age: float | None = None) -> int:
        return service.rotation_status(feeds, max_age=max_age).owed

    assert owed(10) == 4
    stand("b", status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    assert owed(10) == 3
    monkeypatch.setattr(counting, "MANY", 3)
    cache.clear()
    assert owed(10) == 3
    stand("c", status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    assert (owed(10), owed()) == (3, 2)
    time.pass_by(seconds=11)
    assert owed(10) == 2
    stand("d", status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    assert (owed(0), owed(10)) == (1, 1)


def test_the_last_seeding_is_found_without_reading_all_ticks(
    feeds: Rotation, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the newest of its own runs, with what it came to; of the tick only what is told."""
    assert service.rotation_status(feeds).last_seeding is None
    Rotation.objects.update(seed="shop.feeds.members")
    seeding = service.ask_seeding(feeds)
    for _ in range(3):
        service.tick_rotation(feeds)
    status = service.rotation_status(feeds)
    assert status.last_seeding == seeding
    assert status.last_tick is not None
    assert "result" in status.last_tick.get_deferred_fields()
    assert not {"result", "error"} & status.last_seeding.get_deferred_fields()
    monkeypatch.setattr("routines_app.verbs.rotations.status.LOOKED_THROUGH", 2)
    assert service.rotation_status(feeds).last_seeding is None


@pytest.mark.parametrize(("field", "values"), [("picks", {"picks": -1}), ("now", {"now": "noon"})])
def test_bad_questions_are_refused(feeds: Rotation, field: str, values: dict[str, Any]) -> None:
    with pytest.raises(RoutineError) as refused:
        service.rotation_status(feeds, **values)
    assert refused.value.field == field
    with pytest.raises(NotFound):
        service.rotation_status("nobody")


def test_the_stalest_of_a_rotation_is_what_its_next_tick_would_pick(feeds: Rotation, time: Time) -> None:
    """Also by the rotation's name; those that are in flight, fresh or paused are not."""
    now = time.pass_by(hours=1)
    for hours, name in enumerate("abcde"):
        stand(name, attempted_at=now - timedelta(hours=10 - hours))
    service.pause_routine("b")
    stand("c", status=MemberStatus.FRESH, due_at=now + timedelta(hours=1))
    ran = []
    while (run := service.run_stalest("feeds", requested_by="ada")) is not None:
        ran.append((run.routine.name, run.trigger, run.rotation_id, run.tick))
    assert ran == [(name, "manual", feeds.pk, None) for name in "ade"]
    assert service.run_stalest(rotation=feeds) is None


def test_a_name_of_a_pool_and_of_a_rotation_says_which_is_meant(feeds: Rotation) -> None:
    service.create_pool("feeds", max_concurrent=1)
    with pytest.raises(InvalidValue, match="a pool and a rotation"):
        service.run_stalest("feeds")
    with pytest.raises(InvalidValue):
        service.run_stalest("feeds", pool="feeds")
    assert service.run_stalest(pool="feeds") is None
    assert service.run_stalest(rotation="feeds") is not None


def test_the_stalest_of_all_is_never_a_rotation_itself(time: Time) -> None:
    service.create_rotation("feeds")
    assert service.run_stalest() is None


def test_a_touched_member_is_owed_now_and_the_rotation_looks(feeds: Rotation, time: Time) -> None:
    stand("a", status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    stand("b", status=MemberStatus.FAILED, retry_tick=100, failures=3)
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    service.touch("a", actor="ada", reason="it changed")
    service.touch("b")
    service.touch("c")
    assert set(RotationMember.objects.values_list("status", flat=True)) == {MemberStatus.OWED}
    assert Rotation.objects.get().skip_ticks == 0
    change = ScheduleChange.objects.filter(routine__name="a").latest("id")
    assert (change.kind, change.actor, change.reason, change.after) == (
        "updated",
        "ada",
        "it changed",
        {"touched": True},
    )
    assert not ScheduleChange.objects.filter(routine__name="c", kind="updated").exists()  # it was owed


def test_many_are_touched_at_once(feeds: Rotation, time: Time) -> None:
    RotationMember.objects.update(status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    assert service.touch_members(feeds, ["a", Routine.objects.get(name="b")]) == 2
    assert service.touch_members(feeds, actor="ada") == 3
    assert ScheduleChange.objects.filter(routine=feeds.pk).latest("id").after == {"touched": 3}
    with pytest.raises(NotFound):
        service.touch_members(feeds, ["nobody"])


def test_only_a_living_member_is_touched(feeds: Rotation) -> None:
    service.create_routine("outside", task=NOTE)
    for name in ("outside", "feeds"):
        with pytest.raises(NotAllowed, match="no rotation's member"):
            service.touch(name)
    service.archive_routine("a")
    with pytest.raises(NotAllowed, match="archived"):
        service.touch("a")
