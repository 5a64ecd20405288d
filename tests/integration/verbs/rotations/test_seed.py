"""Seeding: what a callable gives become members; what is wrong with it is said, and nothing is written."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from routines_app import service
from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed, RoutineError
from routines_app.models import Rotation, RotationMember, Routine, ScheduleChange
from routines_app.service import Member
from routines_app.verbs.rotations import same_names, seed, wanted
from tests.integration.conftest import NOTE, Time
from tests.integration.verbs.rotations import seeds
from tests.integration.verbs.rows import waiting_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def feeds(time: Time, monkeypatch: pytest.MonkeyPatch) -> Rotation:
    monkeypatch.setattr(seeds, "given", [])
    return seeded_by("of_the_test")


def seeded_by(callable_name: str, name: str = "feeds", **values: Any) -> Rotation:
    return service.create_rotation(name, task=NOTE, seed=f"{seeds.PATH}.{callable_name}", **values)


def give(*items: Any) -> None:
    seeds.given[:] = items


def names() -> set[str]:
    return set(RotationMember.objects.values_list("routine__name", flat=True))


def test_those_that_lack_a_routine_get_one_and_others_are_left_alone(feeds: Rotation) -> None:
    give("a", Member(name="b", args=[1], parent="a"), {"name": "c", "emphasis": 3})
    seeded = service.seed_rotation(feeds)
    assert (seeded.created, seeded.kept, seeded.vanished, seeded.archived) == (3, 0, 0, 0)
    service.update_routine("b", args=[2], emphasis=5.0)
    give("a", Member(name="b", args=[1]), "d")
    seeded = service.seed_rotation(feeds)
    assert (seeded.created, seeded.kept, seeded.vanished, seeded.archived) == (1, 2, 1, 0)
    b = Routine.objects.get(name="b")
    assert (b.args, b.emphasis, b.parent and b.parent.name) == ([2], 5.0, "a")
    change = ScheduleChange.objects.get(routine__name="d")
    assert change.reason == f"given by {feeds.seed}"


@pytest.mark.parametrize(
    ("seed", "made"),
    [("lazily", set()), ("by_name", {"r one"}), ("with_a_default", {"usual one"}), ("instance", {"from an instance"})],
)
def test_a_callable_gets_the_rotation_if_it_asks_for_one(seed: str, made: set[str]) -> None:
    service.seed_rotation(seeded_by(seed, "r"))
    assert names() == made


NONSENSE: list[tuple[str, list[Any]]] = [
    ("seed[1]", ["fine", 7]),
    ("seed[1]", ["fine", None]),
    ("seed[1]", ["fine", ["a list"]]),
    ("seed[1].name", ["fine", {"emphasis": 1}]),
    ("seed[1].name", ["fine", Member(name=7)]),  # type: ignore[arg-type]
    ("seed[1].nam", ["fine", {"nam": "x"}]),
    ("seed[1].name", ["fine", "fine"]),
    ("seed[1].args", ["fine", Member(name="x", args={1: 2})]),  # type: ignore[arg-type]
    ("seed[1].kwargs", ["fine", Member(name="x", kwargs={"a": float("nan")})]),
    ("seed[1].kwargs", ["fine", Member(name="x", kwargs=[])]),  # type: ignore[arg-type]
    ("seed[1].kwargs", ["fine", {"name": "x", "kwargs": 0}]),
    ("seed[1].task", ["fine", {"name": "x", "task": 0}]),
    ("seed[1].emphasis", ["fine", Member(name="x", emphasis=-1)]),
    ("seed[1].parent", ["fine", Member(name="x", parent="nobody")]),
    ("seed[1].task", ["fine", Member(name="x", task="no.such")]),
    ("seed[1].phases", ["fine", Member(name="x", phases="plan")]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("field", "items"), NONSENSE, ids=lambda value: str(value)[:70])
def test_nonsense_is_one_error_that_says_which_and_nothing_is_written(
    feeds: Rotation, field: str, items: list[Any]
) -> None:
    before = Routine.objects.count()
    give(*items)
    with pytest.raises(RoutineError) as refused:
        service.seed_rotation(feeds)
    assert refused.value.field == field
    assert Routine.objects.count() == before


def test_what_left_the_rotation_is_passed_over_and_the_others_are_seeded(feeds: Rotation) -> None:
    """Removed, moved to another one, or never a member: the callable goes on to give it."""
    others = service.create_rotation("others")
    service.create_routine("outside", task=NOTE)
    give("a", "b", "c")
    service.seed_rotation(feeds)
    service.remove_members(feeds, ["b"])
    service.update_routine("c", rotation=others)
    give("a", "b", Member(name="c", args=[5]), "d", "outside", "feeds", {"name": "e", "parent": "b"})
    seeded = service.seed_rotation(feeds)
    assert (seeded.created, seeded.kept, seeded.vanished, seeded.passed_over) == (2, 1, 0, 4)
    assert seeded.note == "routines that are no members were passed over: b, c, outside and 1 more"
    assert set(Routine.objects.filter(rotation=feeds).values_list("name", flat=True)) == {"a", "d", "e"}
    b, c = Routine.objects.get(name="b"), Routine.objects.get(name="c")
    assert (b.rotation_id, c.rotation_id, c.args) == (None, others.pk, [])
    assert Routine.objects.get(name="e").parent == b


@pytest.mark.parametrize("items", [["new", "two", "Two"], ["new", "FIRST"], ["new", "cafe"]], ids=str)
def test_names_that_the_database_takes_for_one_are_refused_before_anything_is_written(
    feeds: Rotation, items: list[str]
) -> None:
    """MariaDB and MySQL ignore case and accents; elsewhere each is a name of its own."""
    give("first", "Café")
    service.seed_rotation(feeds)
    give("first", *items)
    if connection.vendor != "mysql":
        assert service.seed_rotation(feeds).created == len(items)
        return
    with pytest.raises(DuplicateName, match="takes it for") as refused:
        service.seed_rotation(feeds)
    assert refused.value.field == f"seed[{len(items)}].name"
    assert names() == {"first", "Café"}


def test_a_collation_says_by_its_name_what_it_ignores() -> None:
    assert [same_names._are_one("a", "A", each) for each in ("x_general_ci", "x_as_ci", "x_bin", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [same_names._are_one("e", "é", each) for each in ("x_ai_ci", "x_as_ci")] == [True, False]


@pytest.mark.parametrize("seed", ["nothing_at_all", "a_number"])
def test_what_is_no_iterable_is_refused(seed: str) -> None:
    with pytest.raises(InvalidValue, match="iterable"):
        service.seed_rotation(seeded_by(seed))


def test_what_a_callable_raises_is_its_own_error(feeds: Rotation) -> None:
    """It says how far the callable came; nothing of that is written."""
    with pytest.raises(OSError, match="is away"):
        service.seed_rotation(seeded_by("raises", "one"))
    with pytest.raises(OSError, match="went away") as caught:
        service.seed_rotation(seeded_by("raises_in_the_middle", "two"))
    assert "after 2 members" in "".join(caught.value.__notes__)
    assert names() == set()


def test_a_callable_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "MOST", 50)
    with pytest.raises(InvalidValue, match="at most 50"):
        service.seed_rotation(seeded_by("without_end"))
    assert names() == set()


def test_a_callable_that_cannot_be_imported_here_is_said(feeds: Rotation) -> None:
    Rotation.objects.update(seed="nowhere.members")
    with pytest.raises(InvalidValue, match="cannot be imported"):
        service.seed_rotation(feeds)
    Rotation.objects.update(seed="")
    with pytest.raises(NotAllowed, match="no callable"):
        service.seed_rotation(feeds)


def test_vanished_members_are_archived_only_when_asked_and_come_back(feeds: Rotation) -> None:
    """What a person has archived stays so, whatever the callable gives."""
    give("a", "b", "c")
    service.seed_rotation(feeds)
    service.update_rotation(feeds, archive_vanished=True)
    service.archive_routine("c", actor="ada")
    give("b")
    waiting = waiting_run(Routine.objects.get(name="a"), 1)
    seeded = service.seed_rotation(feeds)
    assert (seeded.vanished, seeded.archived) == (1, 1)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason) == ("CANCELLED", "archived")
    a = Routine.objects.get(name="a")
    assert (a.status, a.state.next_source) == ("ARCHIVED", "archived")
    assert service.seed_rotation(feeds).archived == 0
    give("a", "b", "c")
    seeded = service.seed_rotation(feeds)
    assert (seeded.revived, seeded.kept, seeded.archived) == (1, 2, 0)
    assert dict(Routine.objects.filter(rotation=feeds).values_list("name", "status")) == {
        "a": "ACTIVE",
        "b": "ACTIVE",
        "c": "ARCHIVED",
    }
    a.state.refresh_from_db()
    assert a.state.next_source == "manual"
    kinds = ScheduleChange.objects.filter(routine=a).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["created", "archived", "resumed"]


@pytest.mark.parametrize("late", [False, True], ids=["before", "while it seeds"])
def test_a_vanished_member_that_is_paused_or_parked_stays_so(
    feeds: Rotation, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Archived, it would come back without its pause. Once it is resumed, it is archived like any other."""
    give("a", "paused", "parked")
    service.seed_rotation(feeds)
    service.update_rotation(feeds, archive_vanished=True)

    def stop() -> None:
        service.pause_routine("paused", reason="they asked")
        Routine.objects.filter(name="parked").update(status="PARKED")

    if late:
        archive = seed.archive_members
        monkeypatch.setattr(seed, "archive_members", lambda *args, **options: (stop(), archive(*args, **options))[1])
    else:
        stop()
    give("a")
    seeded = service.seed_rotation(feeds)
    assert (seeded.vanished, seeded.archived) == (2, 0)
    assert dict(Routine.objects.filter(rotation=feeds).values_list("name", "status")) == {
        "a": "ACTIVE",
        "paused": "PAUSED",
        "parked": "PARKED",
    }
    assert Routine.objects.get(name="paused").pause_reason == "they asked"
    monkeypatch.undo()
    service.resume_routine("paused")
    monkeypatch.setattr(seeds, "given", ["a"])
    assert service.seed_rotation(feeds).archived == 1


def test_a_callable_that_gives_nothing_archives_nobody_and_says_so(
    feeds: Rotation, caplog: pytest.LogCaptureFixture
) -> None:
    """It is more likely broken than right."""
    give("a", "b")
    service.seed_rotation(feeds)
    service.update_rotation(feeds, archive_vanished=True)
    give()
    seeded = service.seed_rotation(feeds)
    assert (seeded.vanished, seeded.archived) == (2, 0)
    assert "none of 2 members was archived" in seeded.note
    assert seeded.note in caplog.text
    assert not Routine.objects.filter(status="ARCHIVED").exists()


def test_an_archived_rotation_seeds_nobody(feeds: Rotation) -> None:
    give("a")
    service.archive_rotation(feeds)
    with pytest.raises(NotAllowed):
        service.seed_rotation(feeds)


def test_a_task_that_the_rotation_was_given_needs_not_be_known_here() -> None:
    rotation = service.create_rotation(
        "feeds", task="elsewhere.poll", seed=f"{seeds.PATH}.by_name", allow_unknown_task=True
    )
    assert service.seed_rotation(rotation).created == 1
    assert Routine.objects.get(name="feeds one").task == "elsewhere.poll"
