"""Importing: the plan is what is done, and it is all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.errors import ImportRefused, StaleVersion
from routines_app.core.words import RoutineStatus
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineState, ScheduleChange
from routines_app.verbs.declare import declare_routine
from routines_app.verbs.exports import importing
from tests.integration.conftest import MONDAY, NOTE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]

Make = Callable[..., Routine]
FLEET: dict[str, Any] = {
    "format": 1,
    "pools": {"db": {"max_concurrent": 3}},
    "rotations": {"feeds": {"budget": 2, "parent": "top"}},
    "routines": {
        "a child": {"task": NOTE, "parent": "top", "rotation": "feeds"},
        "nightly": {"task": NOTE, "cron": "0 3 * * *", "pool": "db", "timezone": "UTC"},
        "top": {"task": NOTE, "every": "1h", "rotation": None},
    },
}


def with_routines(**entries: Any) -> dict[str, Any]:
    return {"format": 1, "routines": {name: {"task": NOTE} | entry for name, entry in entries.items()}}


def shown(plan: service.ImportPlan) -> dict[str, str]:
    return {entry.name: entry.action.value for entry in plan.entries}


def test_a_plan_says_what_an_import_does_and_writes_nothing() -> None:
    plan = service.plan_import(FLEET)
    assert shown(plan) == dict.fromkeys(["db", "feeds", "a child", "nightly", "top"], "create")
    assert [entry.kind for entry in plan.entries] == ["pool", "rotation", "routine", "routine", "routine"]
    assert not Routine.objects.exists()
    assert not Pool.objects.exists()


def test_what_is_created_is_planned_told_and_in_its_place() -> None:
    service.import_routines(FLEET, actor="ada", reason="a new stage")
    nightly, child = Routine.objects.get(name="nightly"), Routine.objects.get(name="a child")
    assert nightly.state.next_slot == nightly.state.next_run_at == MONDAY.replace(day=3, hour=3, minute=0, second=0)
    assert (nightly.pool.name, child.parent.name, child.depth, child.rotation.name) == ("db", "top", 1, "feeds")
    assert RotationMember.objects.get().routine == child
    assert Rotation.objects.get().max_in_flight == 2
    assert Routine.objects.get(name="feeds").state.next_run_at == MONDAY + timedelta(minutes=30)
    changes = ScheduleChange.objects.filter(kind="created", actor="ada", reason="a new stage")
    assert sorted(changes.values_list("routine_name", flat=True)) == ["a child", "feeds", "nightly", "top"]
    assert changes.get(routine_name="feeds").after["budget"] == 2
    assert service.plan_import(service.export_routines()).is_idle
    assert service.plan_import(FLEET).is_idle


def test_a_change_is_told_from_and_to_and_history_says_who(make: Make) -> None:
    make("report", every="1h", timeout_ms="5m", tags=["a"])
    data = with_routines(report={"every": "2h", "tags": ["a", "b"]})
    plan = service.plan_import(data)
    (entry,) = plan.entries
    assert [(change.field, change.before, change.after) for change in entry.changes] == [
        ("tags", ["a"], ["a", "b"]),
        ("every", "1h", "2h"),
        ("timeout", "5m", None),
    ]
    service.import_routines(data, actor="ada", digest=plan.digest)
    routine = Routine.objects.get()
    assert (routine.interval_ms, routine.timeout_ms, routine.version) == (7_200_000, None, 2)
    assert routine.state.next_slot == MONDAY + timedelta(hours=2)
    assert set(ScheduleChange.objects.get(kind="updated", actor="ada").after) == {"tags", "interval_ms", "timeout_ms"}
    assert service.plan_import(data).is_idle


def test_what_is_the_same_in_other_words_is_unchanged(make: Make) -> None:
    make("report", every="1h", priority="HIGH", emphasis=2, start_at=MONDAY)
    said = {"every": "60 min", "priority": "high", "emphasis": 2, "start_at": "2026-03-02T11:00:30+01:00"}
    assert service.plan_import(with_routines(report=said)).is_idle


def test_what_the_file_does_not_name_is_left_alone_or_archived_if_asked(make: Make) -> None:
    make("report")
    make("old")
    service.create_rotation("old rotation")
    declare_routine("of the code", {"task": NOTE, "every": "1h"}, "shop")
    data = with_routines(report={})
    assert shown(service.plan_import(data)) == {"report": "unchanged"}
    plan = service.plan_import(data, archive_missing=True)
    assert shown(plan) == {"report": "unchanged", "old": "archive", "old rotation": "archive"}
    service.import_routines(data, archive_missing=True, digest=plan.digest, actor="ada")
    archived = Routine.objects.filter(status=RoutineStatus.ARCHIVED).values_list("name", flat=True)
    assert sorted(archived) == ["old", "old rotation"]
    assert ScheduleChange.objects.filter(kind="archived", actor="ada").count() == 2
    assert service.plan_import(data, archive_missing=True).is_idle


def test_every_problem_is_told_at_once_and_names_its_place(make: Make) -> None:
    make("mine", rotation=service.create_rotation("there"))
    data = {
        "format": 1,
        "pools": {"db": {"max_concurrent": -1}, "x": {"max_concurrent": 1, "size": 2}},
        "rotations": {"there": {"budget": 0, "seed": "no.such"}, "mine": {}},
        "routines": {
            "one": {"task": "no.such", "cron": "61 * * * *", "timeout": "soon", "prority": "HIGH"},
            "two": {"task": NOTE, "pool": "nowhere", "parent": "nobody", "rotation": "none"},
            "three": {"task": NOTE, "parent": "four", "every": 90},
            "four": {"task": NOTE, "parent": "three"},
            "five": {"cron": "0 9 * * *", "every": "1h", "task": NOTE},
            "six": {},
            "seven": [],
            "eight": {"task": NOTE, "start_at": "2026-01-02T00:00Z", "end_at": "2026-01-01T00:00Z"},
            "nine": {"task": NOTE, "declared_in": "shop"},
            "99": {"task": NOTE},
        },
    }
    problems = {problem.field: str(problem) for problem in service.plan_import(data).problems}
    assert set(problems) == {
        "pools[db].max_concurrent",
        "pools[x].size",
        "rotations[there].budget",
        "rotations[there].seed",
        "rotations[mine]",
        "routines[one].task",
        "routines[one].cron",
        "routines[one].timeout",
        "routines[one].prority",
        "routines[two].pool",
        "routines[two].parent",
        "routines[two].rotation",
        "routines[three].parent",
        "routines[three].every",
        "routines[four].parent",
        "routines[five].cron",
        "routines[six].task",
        "routines[seven]",
        "routines[eight].end_at",
        "routines[nine].declared_in",
        "routines[99].name",
    }
    assert "did you mean priority" in problems["routines[one].prority"]
    with pytest.raises(ImportRefused) as refused:
        service.import_routines(data)
    assert len(refused.value.problems) == len(problems)
    assert all(text in str(refused.value) for text in problems.values())


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ("format: 1", {"routines": {}}),
        ("format: 1", {"format": 2}),
        ("format: 1", {"format": True}),
        ("give an export", ["routines"]),
        ("did you mean routines", {"format": 1, "routine": {}}),
        ("give an object", {"format": 1, "routines": ["a"]}),
        ("as text", {"format": 1, "routines": {3: {}}}),
        ("a rotation has this name too", {"format": 1, "routines": {"a": {"task": NOTE}}, "rotations": {"a": {}}}),
        ("is the default too", {"format": 1, "pools": {n: {"max_concurrent": 1, "default": True} for n in "ab"}}),
    ],
)
def test_what_is_no_export_is_refused(said: str, data: Any) -> None:
    with pytest.raises(ImportRefused, match=said):
        service.import_routines(data)


def test_a_problem_in_the_last_entry_leaves_nothing() -> None:
    data = FLEET | {"routines": FLEET["routines"] | {"zzz": {"task": "no.such"}}}
    with pytest.raises(ImportRefused):
        service.import_routines(data)
    assert not Routine.objects.exists()
    assert not Pool.objects.exists()


def test_an_error_at_the_very_end_leaves_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash while it is written, after everything was checked."""
    make("report", every="1h")

    def crash(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(importing, "tell_second_opinions", crash)
    with pytest.raises(RuntimeError):
        service.import_routines(FLEET | {"routines": FLEET["routines"] | {"report": {"task": NOTE, "every": "9h"}}})
    assert (Routine.objects.count(), Pool.objects.count(), RoutineState.objects.count()) == (1, 0, 1)
    assert Routine.objects.get().interval_ms == 3_600_000


def test_a_plan_that_is_out_of_date_is_refused(make: Make) -> None:
    make("report", every="1h")
    data = with_routines(report={"every": "2h"})
    plan = service.plan_import(data)
    service.update_routine("report", every="3h")
    with pytest.raises(StaleVersion, match="plan again"):
        service.import_routines(data, digest=plan.digest)
    assert Routine.objects.get().interval_ms == 10_800_000


def test_what_changes_behind_the_locks_is_seen(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody edits between the first look and the locks."""
    make("report", every="1h")
    locks = importing._lock

    def edited(draft: Any) -> Any:
        Routine.objects.update(interval_ms=10_800_000)
        return locks(draft)

    monkeypatch.setattr(importing, "_lock", edited)
    with pytest.raises(StaleVersion):
        service.import_routines(with_routines(report={"every": "2h"}))


@pytest.mark.usefixtures("measured_clock")
def test_many_are_created_in_as_many_statements_as_few() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite takes so many parameters at once, so a batch is several statements")

    def fleet(letter: str, count: int) -> dict[str, Any]:
        members = {f"{letter}{number}": {"rotation": "feeds", "parent": "top"} for number in range(count)}
        return with_routines(top={}, **members) | {"rotations": {"feeds": {}}}

    service.import_routines(fleet("a", 1))
    with CaptureQueriesContext(connection) as few:
        service.import_routines(fleet("b", 2))
    with CaptureQueriesContext(connection) as many:
        service.import_routines(fleet("c", 60))
    assert len(many) == len(few)
    assert service.plan_import(fleet("c", 60)).is_idle
