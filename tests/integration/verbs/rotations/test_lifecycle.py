"""The end of rotations and members, and what is in between: pause, resume, archive, delete."""

from __future__ import annotations

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.models import Rotation, RotationMember, RotationSample, Routine, ScheduleChange
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.rows import waiting_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def feeds(time: Time) -> Rotation:
    rotation = service.create_rotation("feeds", task=NOTE)
    service.add_members(rotation, ["a", "b"])
    return rotation


def statuses() -> dict[str, str]:
    return dict(Routine.objects.values_list("name", "status"))


def test_a_rotation_is_paused_and_resumed(feeds: Rotation) -> None:
    paused = service.pause_rotation(feeds, reason="too much", actor="ada")
    assert (paused.routine.status, feeds.routine.status, paused.routine.pause_reason) == (
        "PAUSED",
        "PAUSED",
        "too much",
    )
    assert service.rotation_status(feeds).next_tick_at is None
    resumed = service.resume_rotation("feeds")
    assert (resumed.routine.status, statuses()["a"]) == ("ACTIVE", "ACTIVE")
    service.update_rotation(resumed, budget=2)


def test_an_archived_rotation_leaves_its_members(feeds: Rotation) -> None:
    service.archive_rotation(feeds)
    assert statuses() == {"feeds": "ARCHIVED", "a": "ACTIVE", "b": "ACTIVE"}
    with pytest.raises(NotAllowed):
        service.archive_rotation(feeds)


def test_members_are_archived_with_it_when_asked_also_later(feeds: Rotation) -> None:
    """Whoever is cut off in between asks again."""
    waiting = waiting_run(Routine.objects.get(name="a"), 1)
    service.archive_rotation(feeds)
    told: list[int] = []
    service.archive_rotation(feeds, members=True, actor="ada", reason="over", progress=told.append)
    assert (set(statuses().values()), told) == ({"ARCHIVED"}, [2])
    waiting.refresh_from_db()
    assert waiting.status == "CANCELLED"
    change = ScheduleChange.objects.filter(routine__name="b").latest("id")
    assert (change.kind, change.actor, change.reason, change.before) == (
        "archived",
        "ada",
        "over",
        {"status": "ACTIVE"},
    )


def test_a_deleted_rotation_lets_its_members_go(feeds: Rotation) -> None:
    """They stay, as routines that run by hand, and their history says when."""
    counts = dict.fromkeys(("owed", "in_flight", "fresh", "failing", "left_out"), 0)
    RotationSample.objects.create(rotation=feeds, at=MONDAY, **counts)
    service.archive_rotation(feeds)
    service.delete_routine("feeds", actor="ada")
    assert statuses() == {"a": "ACTIVE", "b": "ACTIVE"}
    assert not Rotation.objects.exists()
    assert not RotationMember.objects.exists()
    assert not RotationSample.objects.exists()
    assert set(Routine.objects.values_list("rotation", flat=True)) == {None}
    assert ScheduleChange.objects.filter(routine__name="a").latest("id").after == {"rotation": None}


def test_a_deleted_member_leaves_its_rotation(feeds: Rotation) -> None:
    service.archive_routine("a")
    service.delete_routine("a")
    assert RotationMember.objects.get().routine.name == "b"
