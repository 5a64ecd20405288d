"""Changing rotations and members: what follows from a change, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from routines_app import service
from routines_app.core.errors import InvalidValue, NotAllowed, RoutineError, StaleVersion
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine, ScheduleChange
from routines_app.verbs.rotations import finding
from tests.integration.conftest import NOTE, Time

pytestmark = pytest.mark.django_db


@pytest.fixture
def feeds(time: Time) -> Rotation:
    return service.create_rotation("feeds", task=NOTE)


def member(name: str = "feed") -> RotationMember:
    return RotationMember.objects.get(routine__name=name)


def test_a_rotation_and_its_routine_change_together(feeds: Rotation, time: Time) -> None:
    changed = service.update_rotation(
        feeds, name="sources", every="10m", budget=3, fresh_for="2h", task="", actor="ada", reason="slower"
    )
    assert (changed.name, changed.budget, changed.max_in_flight, changed.fresh_for_ms) == ("sources", 3, 3, 7_200_000)
    assert changed.routine.interval_ms == 600_000
    assert (feeds.name, feeds.budget, feeds.routine.version) == ("sources", 3, changed.routine.version)
    assert service.find_rotation("sources").member_task == ""
    told = {key for change in ScheduleChange.objects.filter(kind="updated", actor="ada") for key in change.after}
    assert {"name", "interval_ms", "budget", "max_in_flight", "fresh_for_ms", "member_task"} <= told
    service.update_rotation(feeds, depth_weight=1.0)
    assert service.update_rotation("sources", max_in_flight=None, budget=4).max_in_flight == 4


def test_nothing_changed_is_nothing_written(feeds: Rotation) -> None:
    service.update_rotation(feeds, budget=1, name="feeds", every="30m")
    assert not ScheduleChange.objects.filter(kind="updated").exists()
    assert Routine.objects.get(name="feeds").version == 1


def test_an_edit_of_a_stale_version_is_refused(feeds: Rotation) -> None:
    mine, yours = service.find_rotation("feeds"), service.find_rotation("feeds")
    service.update_rotation(mine, budget=2)
    with pytest.raises(StaleVersion):
        service.update_rotation(yours, budget=3)
    with pytest.raises(StaleVersion):
        service.update_rotation("feeds", version=1, budget=3)
    assert Rotation.objects.get().budget == 2


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("budget", {"budget": 0}),
        ("fresh_for", {"fresh_for": "-1d"}),
        ("fresh_for_ms", {"fresh_for_ms": -1}),
        ("phases[0].name", {"phases": [{"name": "", "task": NOTE}]}),
        ("seed", {"seed": "nowhere"}),
        ("cron", {"cron": "never"}),
        ("catch_up_policy", {"catch_up_policy": "ALL"}),
        ("concurrency_policy", {"concurrency_policy": "QUEUE"}),
        ("ticks", {"ticks": 5}),
        ("budget", {"name": "renamed", "budget": "x"}),
    ],
    ids=str,
)
def test_what_no_rotation_can_become_is_refused(feeds: Rotation, field: str, values: dict[str, Any]) -> None:
    with pytest.raises(RoutineError) as refused:
        service.update_rotation("feeds", **values)
    assert refused.value.field == field
    assert Routine.objects.get().name == "feeds"
    assert not ScheduleChange.objects.filter(kind="updated").exists()


@pytest.mark.parametrize(
    "values",
    [
        {"task": NOTE},
        {"args": [1]},
        {"kwargs": {"a": 1}},
        {"concurrency_policy": "FORBID"},
        {"max_attempts": 2},
        {"catch_up_policy": "ALL"},
        {"rotation": "others"},
        {"phases": [{"name": "plan", "task": NOTE}]},
    ],
    ids=str,
)
def test_a_rotations_own_routine_stays_what_it_is(feeds: Rotation, values: dict[str, Any]) -> None:
    service.create_rotation("others")
    with pytest.raises(RoutineError) as refused:
        service.update_routine("feeds", **values)
    assert refused.value.field == next(iter(values))
    service.update_routine("feeds", description="of the news", every="1h", catch_up_policy="LAST", timeout_ms=60_000)
    assert Routine.objects.get(name="feeds").task == TICK_TASK


def test_an_archived_rotation_is_not_changed(feeds: Rotation) -> None:
    service.archive_rotation(feeds)
    with pytest.raises(NotAllowed, match="archived"):
        service.update_rotation(feeds, budget=2)


@pytest.mark.django_db(transaction=True)
def test_a_shorter_freshness_holds_also_for_what_is_fresh(feeds: Rotation, time: Time) -> None:
    """And a rotation that idles looks again at its next tick."""
    service.add_members(feeds, ["feed", "owed"])
    RotationMember.objects.filter(routine__name="feed").update(
        status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1)
    )
    Rotation.objects.update(idle_multiplier=4, skip_ticks=3)
    changed = service.update_rotation("feeds", fresh_for="1h")
    assert member().due_at == time.now + timedelta(hours=1)
    assert (member("owed").due_at, changed.idle_multiplier, changed.skip_ticks) == (None, 1, 0)


@pytest.mark.django_db(transaction=True)
def test_a_new_freshness_is_written_in_short_transactions_and_finished_by_the_next_call(
    feeds: Rotation, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change comes first; cut off after some of its members, it is called again, with or without a change."""
    service.add_members(feeds, [f"m{number}" for number in range(7)])
    RotationMember.objects.update(status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    monkeypatch.setattr(finding, "BATCH", 2)
    told: list[int] = []

    def cut_off(done: int) -> None:
        assert not connection.in_atomic_block
        told.append(done)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.update_rotation("feeds", fresh_for="1h", progress=cut_off)
    fresh = RotationMember.objects.filter(due_at=time.now + timedelta(hours=1))
    assert (Rotation.objects.get().fresh_for_ms, fresh.count(), told) == (3_600_000, 4, [2, 4])
    told.clear()
    service.update_rotation("feeds", progress=cut_off)
    assert (fresh.count(), told) == (7, [2, 3])
    assert ScheduleChange.objects.filter(kind="updated", routine__name="feeds").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_of_freshness_the_later_one_holds_for_all(
    feeds: Rotation, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.add_members(feeds, ["a", "b", "c"])
    RotationMember.objects.update(status=MemberStatus.FRESH, due_at=time.now + timedelta(days=1))
    monkeypatch.setattr(finding, "BATCH", 1)
    others: list[str] = ["2h"]

    def in_between(_: int) -> None:
        if others:
            service.update_rotation("feeds", fresh_for=others.pop())

    service.update_rotation("feeds", fresh_for="1h", progress=in_between)
    assert set(RotationMember.objects.values_list("due_at", flat=True)) == {time.now + timedelta(hours=2)}


def test_rank_follows_edits_of_a_member_and_of_its_ancestors(feeds: Rotation) -> None:
    service.create_routine("root", task=NOTE)
    service.create_routine("branch", task=NOTE)
    service.create_routine("feed", task=NOTE, rotation=feeds, parent="branch")
    assert (member().depth, member().band, member().emphasis) == (1, 1, 1.0)
    service.update_routine("feed", priority="HIGH", emphasis=4.0)
    service.update_routine("branch", parent="root")
    assert (member().depth, member().band, member().emphasis) == (2, 0, 4.0)
    service.archive_routine("root")
    service.delete_routine("root")
    assert member().depth == 1
    service.archive_routine("branch")
    service.delete_routine("branch")
    assert member().depth == 0


def test_a_routine_joins_moves_and_leaves_by_an_edit(feeds: Rotation) -> None:
    others = service.create_rotation("others")
    service.create_routine("feed", task=NOTE)
    routine = service.update_routine("feed", rotation="feeds")
    assert (routine.concurrency_policy, member().rotation_id) == ("FORBID", feeds.pk)
    service.update_routine("feed", rotation=others)
    assert member().rotation_id == others.pk
    service.update_routine("feed", rotation=None)
    assert not RotationMember.objects.exists()
    service.update_routine("feed", every="5m", concurrency_policy="ALLOW")


def test_one_that_has_left_keeps_its_phases_and_is_saved_with_them(feeds: Rotation) -> None:
    """As a form does, which gives every field; other phases it cannot have."""
    phases = [{"name": "plan", "task": NOTE}]
    service.create_routine("feed", task=NOTE, rotation=feeds, phases=phases)
    service.remove_members(feeds, ["feed"])
    routine = service.update_routine("feed", rotation=None, phases=phases, description="of the news")
    assert (routine.description, routine.phases) == ("of the news", phases)
    with pytest.raises(InvalidValue) as refused:
        service.update_routine("feed", phases=[{"name": "build", "task": NOTE}])
    assert refused.value.field == "phases"
    assert service.update_routine("feed", phases=[]).phases == []


@pytest.mark.parametrize(
    ("field", "values"),
    [("trigger_kind", {"every": "5m"}), ("concurrency_policy", {"concurrency_policy": "QUEUE"})],
    ids=str,
)
def test_a_member_stays_manual_and_exclusive(feeds: Rotation, field: str, values: dict[str, Any]) -> None:
    service.create_routine("feed", task=NOTE, rotation=feeds)
    with pytest.raises(RoutineError) as refused:
        service.update_routine("feed", **values)
    assert refused.value.field == field
    service.update_routine("feed", rotation=None, **values)  # unless it leaves


def test_members_take_no_hints(feeds: Rotation, time: Time) -> None:
    """One by one they are refused; of many with a tag they are left out."""
    service.create_routine("feed", task=NOTE, rotation=feeds, tags=["eu"])
    service.create_routine("other", task=NOTE, every="5m", tags=["eu"])
    attempts: list[Any] = [
        lambda: service.propose_interval("feed", "1m"),
        lambda: service.propose_next_time("feed", time.now + timedelta(minutes=1)),
        lambda: service.propose_factor(2, routine="feed"),
    ]
    for attempt in attempts:
        with pytest.raises(NotAllowed, match="touch"):
            attempt()
    assert service.propose_factor(2, tag="eu") == 1
    assert service.clear_hints("feed").name == "feed"


def test_a_rotations_own_routine_takes_hints(feeds: Rotation) -> None:
    """Its ticks come more often for a while."""
    service.propose_interval("feeds", "1m")
    assert Routine.objects.get(name="feeds").state.hint_interval_ms == 60_000
