"""`manage.py routines rotation …`."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import Rotation, RotationMember, Routine
from tests.integration.conftest import NOTE, Time
from tests.integration.management.commands.test_routines import routines
from tests.integration.verbs.rotations import seeds

pytestmark = pytest.mark.django_db


def rotation(*arguments: str) -> str:
    return routines("rotation", *arguments)


def told(*arguments: str) -> Any:
    return json.loads(rotation(*arguments, "--json"))


@pytest.fixture
def feeds(time: Time) -> Rotation:
    return service.create_rotation("feeds", task=NOTE)


def test_a_rotation_is_created_changed_and_listed(time: Time) -> None:
    phases = json.dumps([{"name": "plan", "task": NOTE}])
    options = ["--every", "10m", "--budget", "3", "--fresh-for", "2h", "--task", NOTE, "--phases", phases]
    assert "rotation feeds is created: at most 3 at a tick, 3 in flight" in rotation("create", "feeds", *options)
    facts = told(
        "update", "feeds", "--name", "sources", "--max-in-flight", "5", "--timeout", "2m", "--archive-vanished"
    )
    assert (facts["name"], facts["max_in_flight"], facts["archive_vanished"]) == ("sources", 5, True)
    assert (facts["fresh_for"], facts["phases"]) == ("2h", ["plan"])
    assert Routine.objects.get().timeout_ms == 120_000
    rotation("add", "sources", "a", "b")
    listed = told("list")
    assert [(each["name"], each["members"], each["owed"]) for each in listed] == [("sources", 2, 2)]
    assert "sources" in rotation("list")


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("budget", ["create", "other", "--budget", "0"]),
        ("fresh_for", ["create", "other", "--fresh-for", "soon"]),
        ("timeout", ["create", "other", "--timeout", "soon"]),
        ("phases", ["create", "other", "--phases", "plan"]),
        ("task", ["create", "other", "--task", "no.such"]),
        ("no rotation has that name", ["status", "nobody"]),
        ("no rotation has that id", ["tick", "--id", "999999"]),
        ("nothing to change", ["update", "feeds"]),
        ("give names", ["add", "feeds"]),
        ("give the rotation", ["remove"]),
        ("give names of members or --all, not both", ["touch", "feeds", "a", "--all"]),
        ("cannot be read", ["add", "feeds", "--from-file", "/nowhere"]),
        ("members[0]", ["remove", "feeds", "nobody"]),
        ("no callable", ["seed", "feeds"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(feeds: Rotation, said: str, arguments: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        rotation(*arguments)
    assert said in str(refused.value)
    assert Routine.objects.count() == 1


@pytest.mark.usefixtures("measured_clock")
def test_the_list_asks_as_much_for_many_rotations_as_for_one(feeds: Rotation) -> None:
    with CaptureQueriesContext(connection) as one:
        rotation("list")
    for number in range(5):
        service.add_members(service.create_rotation(f"more-{number}", task=NOTE), [f"m-{number}"])
    with CaptureQueriesContext(connection) as many:
        rotation("list")
    assert len(many) == len(one)


def test_members_are_added_touched_and_removed(feeds: Rotation, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("b\n\n c \n")
    assert told("add", "feeds", "a", "--from-file", str(names)) == {"created": 3, "joined": 0, "kept": 0}
    assert told("add", "feeds", "a")["kept"] == 1
    RotationMember.objects.update(status="FRESH", due_at=feeds.routine.created_at + timedelta(days=365))
    assert rotation("touch", "feeds", "a") == "1 are owed now that were not\n"
    assert told("touch", "feeds", "--all") == {"touched": 2}
    assert told("remove", "feeds", "a", "b") == {"removed": 2}
    assert RotationMember.objects.get().routine.name == "c"


def test_members_of_a_rotation_that_is_named_by_its_id(feeds: Rotation) -> None:
    """Every name is then a member's."""
    by_id = ("--id", str(feeds.pk))
    assert told("add", *by_id, "a", "b")["created"] == 2
    assert told("touch", *by_id, "a") == {"touched": 0}
    assert told("touch", *by_id, "--all") == {"touched": 0}
    assert told("remove", *by_id, "b") == {"removed": 1}
    assert "1 member: 1 owed" in rotation("status", "feeds")
    assert "rotation             feeds" in routines("show", "a")


def test_ticks_and_seedings_by_hand(feeds: Rotation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "given", ["a", "b"])
    rotation("update", "feeds", "--seed", f"{seeds.PATH}.of_the_test")
    assert "2 created, 0 kept, 0 vanished, 0 archived" in rotation("seed", "feeds")
    assert told("seed", "feeds")["kept"] == 2
    assert rotation("tick", "feeds") == "picked: a\n"
    assert told("tick", "feeds")["reason"] == "full"
    assert routines("run-stalest", "--rotation", "feeds").startswith("run ")
    assert routines("run-stalest", "--rotation", "feeds") == "nothing to run: no member is owed\n"


def test_how_a_rotation_stands(feeds: Rotation) -> None:
    service.add_members(feeds, ["a", "b"])
    service.tick_rotation(feeds)
    text = rotation("status", "feeds")
    assert "2 members: 1 owed, 1 in flight, 0 fresh, 0 failing, 0 left out" in text
    assert text.index("under way:") < text.index("next picks:") < text.index("never run, the only one that is owed")
    facts = told("status", "feeds", "--picks", "1")
    assert (facts["rotation"]["name"], facts["owed"], facts["last_tick"]["reason"]) == ("feeds", 1, "picked")
    assert [pick["name"] for pick in facts["under_way"] + facts["next_picks"]] == ["a", "b"]


def test_a_rotation_is_paused_resumed_and_archived(feeds: Rotation) -> None:
    service.add_members(feeds, ["a"])
    assert "is paused" in rotation("pause", "feeds", "--until", "2100-01-01T00:00+00:00", "--reason", "too much")
    assert Routine.objects.get(name="feeds").pause_reason == "too much"
    assert told("resume", "feeds")["status"] == "ACTIVE"
    assert "is archived" in rotation("archive", "feeds", "--members")
    assert set(Routine.objects.values_list("status", flat=True)) == {"ARCHIVED"}
