"""Adding and removing members, any number at once: all is checked first, and statements do not grow with them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.errors import DuplicateName, NotAllowed, NotFound, RoutineError
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineState, ScheduleChange
from routines_app.service import Member
from routines_app.verbs.rotations import finding, writing
from tests.integration.conftest import NOTE, Time
from tests.integration.verbs.rows import running_run, waiting_run

pytestmark = pytest.mark.django_db

DEEP = [
    {"name": "top"},
    *({"name": f"level {n}", "parent": f"level {n - 1}" if n > 1 else "top"} for n in range(1, 52)),
]


@pytest.fixture
def feeds(time: Time) -> Rotation:
    return service.create_rotation("feeds", task=NOTE)


def names(rotation: Rotation) -> set[str]:
    return set(RotationMember.objects.filter(rotation=rotation).values_list("routine__name", flat=True))


def test_members_are_created_from_members_mappings_and_names(feeds: Rotation, time: Time) -> None:
    """Each is a MANUAL routine with a state, a history and a place in the rotation."""
    added = service.add_members(
        feeds,
        [
            Member(name="a", args=[1], kwargs={"url": "x"}, emphasis=2.0, tags=["eu"]),
            {"name": "b", "parent": "a", "phases": [{"name": "plan", "task": NOTE}]},
            "c",
        ],
        actor="ada",
        reason="more of them",
    )
    assert (added.created, added.joined, added.kept) == (3, 0, 0)
    a, b, c = (Routine.objects.get(name=name) for name in "abc")
    assert (a.args, a.kwargs, a.emphasis, a.tags, a.task) == ([1], {"url": "x"}, 2.0, ["eu"], NOTE)
    assert (b.parent_id, b.depth, b.phases) == (a.pk, 1, [{"name": "plan", "task": NOTE}])
    assert {(r.trigger_kind, r.concurrency_policy, r.rotation_id) for r in (a, b, c)} == {
        ("MANUAL", "FORBID", feeds.pk)
    }
    members = {member.routine_id: member for member in RotationMember.objects.all()}
    assert (members[b.pk].depth, members[a.pk].emphasis, members[c.pk].status) == (1, 2.0, MemberStatus.OWED)
    assert set(RoutineState.objects.exclude(pk=feeds.pk).values_list("next_source", "next_run_at")) == {
        ("manual", None)
    }
    change = ScheduleChange.objects.get(routine=b)
    assert (change.kind, change.actor, change.reason) == ("created", "ada", "more of them")
    assert (change.after["parent"], change.after["rotation"]) == (a.pk, feeds.pk)


def test_routines_that_are_there_join_and_members_stay_as_they_are(feeds: Rotation) -> None:
    there = service.create_routine("there", task=NOTE, args=[7], concurrency_policy="ALLOW")
    also = service.create_routine("also", task=NOTE, concurrency_policy="QUEUE")
    service.add_members(feeds, ["old"])
    added = service.add_members(feeds, ["there", also, "old", Member(name="old", args=[9])][:3])
    assert (added.created, added.joined, added.kept) == (0, 2, 1)
    there.refresh_from_db()
    assert (there.rotation_id, there.concurrency_policy, there.args, there.version) == (feeds.pk, "FORBID", [7], 2)
    assert service.add_members(feeds, [{"name": "old", "args": [9]}]).kept == 1
    assert Routine.objects.get(name="old").args == []
    change = ScheduleChange.objects.filter(routine=there).latest("id")
    assert change.before == {"rotation": None, "concurrency_policy": "ALLOW"}
    assert names(feeds) == {"there", "also", "old"}


REFUSED: list[tuple[str, list[Any]]] = [
    ("members[1]", ["fine", 5]),
    ("members[1]", ["fine", None]),
    ("members[1].name", ["fine", {"args": []}]),
    ("members[1].name", ["fine", {"name": "12"}]),
    ("members[1].name", ["fine", {"name": ""}]),
    ("members[1].name", ["fine", "fine"]),
    ("members[1].name", ["fine", Member(name="outside")]),
    ("members[1].colour", ["fine", {"name": "x", "colour": "red"}]),
    ("members[1].args", ["fine", {"name": "x", "args": "abc"}]),
    ("members[1].args", ["fine", {"name": "x", "args": [{1, 2}]}]),
    ("members[1].kwargs", ["fine", {"name": "x", "kwargs": [1]}]),
    ("members[1].kwargs", ["fine", {"name": "x", "kwargs": []}]),
    ("members[1].emphasis", ["fine", {"name": "x", "emphasis": "much"}]),
    ("members[1].task", ["fine", {"name": "x", "task": "no.such"}]),
    ("members[1].phases[0].task", ["fine", {"name": "x", "phases": [{"name": "p", "task": "no.such"}]}]),
    ("members[1].tags", ["fine", {"name": "x", "tags": "eu"}]),
    ("members[1].parent", ["fine", {"name": "x", "parent": "nobody"}]),
    ("members[1].parent", ["fine", {"name": "x", "parent": 5}]),
    ("members[0].parent", [{"name": "x", "parent": "x"}, "fine"]),
    ("members[0].parent", [{"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}]),
    ("members[51].parent", DEEP),
    ("members[1]", ["fine", "scheduled"]),
    ("members[1]", ["fine", "elsewhere"]),
    ("members[1]", ["fine", "gone"]),
    ("members[1]", ["fine", "feeds"]),
]


@pytest.mark.parametrize(("field", "members"), REFUSED, ids=lambda value: str(value)[:60])
def test_one_that_cannot_be_refuses_all_and_says_which(feeds: Rotation, field: str, members: list[Any]) -> None:
    service.create_routine("outside", task=NOTE)
    service.create_routine("scheduled", task=NOTE, every="1h")
    service.create_rotation("others")
    service.create_routine("elsewhere", task=NOTE, rotation="others")
    service.archive_routine(service.create_routine("gone", task=NOTE))
    before = Routine.objects.count()
    with pytest.raises(RoutineError) as refused:
        service.add_members(feeds, members)
    assert refused.value.field == field
    assert Routine.objects.count() == before
    assert names(feeds) == set()


def test_a_routine_that_is_given_itself_joins_whatever_it_is_called_by_now(feeds: Rotation) -> None:
    """And not another one that has its old name."""
    routine = service.create_routine("before", task=NOTE)
    service.update_routine("before", name="after")
    other = service.create_routine("before", task=NOTE)
    assert service.add_members(feeds, [routine]).joined == 1
    assert names(feeds) == {"after"}
    with pytest.raises(DuplicateName, match="the same one"):
        service.add_members(feeds, [other, "before"])
    service.archive_routine("after")
    with pytest.raises(NotAllowed, match="archived member"):
        service.add_members(feeds, [routine])
    service.delete_routine("after")
    with pytest.raises(NotFound, match="id"):
        service.add_members(feeds, [routine])
    assert service.add_members(feeds, [routine.name, other][1:]).joined == 1


@pytest.mark.parametrize("members", ["abc", {"name": "a"}, 7, None], ids=str)
def test_what_is_no_list_of_members_is_refused(feeds: Rotation, members: Any) -> None:
    with pytest.raises(RoutineError) as refused:
        service.add_members(feeds, members)
    assert refused.value.field == "members"


def test_a_hinted_routine_joins_when_its_hints_are_cleared(feeds: Rotation) -> None:
    routine = service.create_routine("hinted", task=NOTE)
    service.propose_interval(routine, "1m")
    for attempt in (
        lambda: service.add_members(feeds, ["hinted"]),
        lambda: service.update_routine("hinted", rotation=feeds),
    ):
        with pytest.raises(NotAllowed, match="hints"):
            attempt()
    service.clear_hints(routine)
    assert service.add_members(feeds, ["hinted"]).joined == 1


def test_a_rotation_without_a_task_takes_members_that_have_one() -> None:
    rotation = service.create_rotation("bare")
    with pytest.raises(RoutineError) as refused:
        service.add_members(rotation, ["a"])
    assert refused.value.field == "members[0].task"
    phases = [{"name": "plan", "task": NOTE}]
    assert service.add_members(rotation, [{"name": "a", "task": NOTE}, {"name": "b", "phases": phases}]).created == 2
    assert Routine.objects.get(name="b").task == NOTE


def test_parents_come_before_their_children_in_whatever_order_they_are_given(feeds: Rotation) -> None:
    service.create_routine("root", task=NOTE)
    chain = [{"name": f"n{number}", "parent": f"n{number - 1}" if number else "root"} for number in range(50)]
    assert service.add_members(feeds, reversed(chain)).created == 50
    assert list(RotationMember.objects.order_by("depth").values_list("depth", flat=True)) == list(range(1, 51))
    assert Routine.objects.get(name="n49").parent == Routine.objects.get(name="n48")


def test_thousands_are_added_and_removed_in_bounded_statements(
    feeds: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By batches: twice as many members in as many batches ask as many statements."""
    per_batch = (
        _statements(lambda: service.add_members(feeds, [f"a{n}" for n in range(1_000)])),
        _statements(lambda: service.remove_members(feeds, [f"a{n}" for n in range(1_000)])),
    )
    told: list[int] = []
    count = 3_000  # more only take longer for the same
    members = [Member(name=f"b{n}", args=[n]) for n in range(count)]
    added = _statements(lambda: service.add_members(feeds, members, progress=told.append))
    assert told == list(range(1_000, count + 1, 1_000))
    assert RotationMember.objects.count() == RoutineState.objects.count() - 1_001 == count
    assert ScheduleChange.objects.filter(kind="created", routine_name__startswith="b").count() == count
    removed = _statements(lambda: service.remove_members(feeds, [f"b{n}" for n in range(count)]))
    assert not RotationMember.objects.exists()
    assert added <= count // 1_000 * per_batch[0]
    assert removed <= count // 1_000 * per_batch[1]
    if connection.vendor == "postgresql":  # SQLite splits what has too many values
        assert per_batch[0] <= 25
        assert per_batch[1] <= 25


def _statements(do: Any) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        do()
    return len(asked)


def test_removed_members_are_manual_routines_and_what_runs_goes_on(feeds: Rotation) -> None:
    service.add_members(feeds, ["a", "b", "c"])
    a, b = Routine.objects.get(name="a"), Routine.objects.get(name="b")
    run = running_run(a)
    assert service.remove_members(feeds, [a, b.pk, "a"], actor="ada") == 2
    assert names(feeds) == {"c"}
    a.refresh_from_db()
    assert (a.rotation_id, a.status, a.trigger_kind) == (None, "ACTIVE", "MANUAL")
    run.refresh_from_db()
    assert run.status == "RUNNING"
    assert ScheduleChange.objects.filter(routine=b).latest("id").before == {"rotation": feeds.pk}


@pytest.mark.parametrize("wrong", ["nobody", 10**30, 1.5, True, "outside", "x\x00"], ids=repr)
def test_whoever_is_no_member_refuses_the_removal_of_all(feeds: Rotation, wrong: Any) -> None:
    service.create_routine("outside", task=NOTE)
    service.add_members(feeds, ["a"])
    with pytest.raises(RoutineError) as refused:
        service.remove_members(feeds, ["a", wrong])
    assert refused.value.field == "members[1]"
    assert names(feeds) == {"a"}


@pytest.mark.each_database
def test_a_name_that_is_taken_between_look_and_insert_is_refused(
    feeds: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create_routine("taken", task=NOTE)
    monkeypatch.setattr("routines_app.verbs.rotations.sorting.by_name", lambda _: {})
    with pytest.raises(DuplicateName, match="just taken"):
        service.add_members(feeds, ["fine", "taken"])
    assert names(feeds) == set()


def test_one_that_became_scheduled_between_look_and_lock_does_not_join(
    feeds: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    routine = service.create_routine("late", task=NOTE)
    locked = writing.lock_states

    def changed_meanwhile(ids: Any) -> Any:
        Routine.objects.filter(pk=routine.pk).update(trigger_kind="INTERVAL", interval_ms=60_000)
        return locked(ids)

    monkeypatch.setattr(writing, "lock_states", changed_meanwhile)
    with pytest.raises(NotAllowed, match="INTERVAL"):
        service.add_members(feeds, ["late"])


def test_whoever_is_interrupted_calls_again(feeds: Rotation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches that were written stay; the same call does the rest."""
    monkeypatch.setattr(finding, "BATCH", 2)

    def cut_off(done: int) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    wanted = [f"m{number}" for number in range(7)]
    with pytest.raises(KeyboardInterrupt):
        service.add_members(feeds, wanted, progress=cut_off)
    added = service.add_members(feeds, wanted)
    assert (added.created, added.kept) == (3, 4)


def test_a_rotation_that_is_gone_or_archived_takes_nobody(feeds: Rotation, monkeypatch: pytest.MonkeyPatch) -> None:
    service.archive_rotation(feeds)
    with pytest.raises(NotAllowed):
        service.add_members(feeds, ["a"])
    service.delete_routine(feeds.routine)
    with pytest.raises(NotFound):
        service.add_members(feeds, ["a"])


def test_a_waiting_run_of_one_that_joins_is_judged_by_its_new_policy(feeds: Rotation) -> None:
    routine = service.create_routine("busy", task=NOTE, concurrency_policy="QUEUE")
    waiting_run(routine, 1)
    assert service.add_members(feeds, ["busy"]).joined == 1
