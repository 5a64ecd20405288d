"""Importing pauses, archived and declared routines, families, members, rotations and pools."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.errors import ImportRefused
from routines_app.models import Pool, Rotation, RotationMember, Routine, ScheduleChange
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.exports.test_import import FLEET, shown, with_routines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]

Make = Callable[..., Routine]


def test_a_pause_travels_and_what_is_not_said_stays_paused(make: Make, time: Time) -> None:
    make("report", every="1h")
    until = MONDAY + timedelta(days=1)
    service.import_routines(with_routines(report={"every": "1h", "paused": {"reason": "broken", "until": str(until)}}))
    report = Routine.objects.get()
    assert (report.status, report.pause_reason, report.paused_until) == ("PAUSED", "broken", until)
    silent = with_routines(report={"every": "1h"})
    assert service.plan_import(silent).is_idle
    running = with_routines(report={"every": "1h", "paused": False})
    assert shown(service.plan_import(running)) == {"report": "change"}
    service.import_routines(running)
    assert Routine.objects.get().status == "ACTIVE"
    over = with_routines(report={"every": "1h", "paused": {"until": str(MONDAY)}})
    assert service.plan_import(over).is_idle


def test_a_parked_routine_is_not_paused_by_a_file(make: Make) -> None:
    make("report")
    Routine.objects.update(status="PARKED")
    assert service.plan_import(with_routines(report={})).is_idle
    with pytest.raises(ImportRefused, match="reset first"):
        service.import_routines(with_routines(report={"paused": True}))


def test_archived_routines_travel_as_such(make: Make) -> None:
    data = with_routines(old={"archived": True, "every": "1h"}, living={"every": "1h"})
    service.import_routines(data)
    old = Routine.objects.get(name="old")
    assert (old.status, old.state.next_run_at) == ("ARCHIVED", None)
    assert service.export_routines(archived=True) == data
    assert service.plan_import(data).is_idle
    assert shown(service.plan_import(with_routines(living={"archived": True}))) == {"living": "archive"}
    with pytest.raises(ImportRefused, match="archived here"):
        service.import_routines(with_routines(old={}))


def test_of_what_code_declares_all_but_the_task_is_imported(make: Make) -> None:
    """As in the admin: it stays until it is given back to the code."""
    declare_routine("nightly", {"task": NOTE, "cron": "0 3 * * *", "timezone": "UTC"}, "shop")
    data = service.export_routines(declared=True)
    data["routines"]["nightly"]["timeout"] = "5m"
    service.import_routines(data)
    assert Routine.objects.get().timeout_ms == 300_000
    data["routines"]["nightly"]["cron"] = "0 4 * * *"
    service.import_routines(data)
    assert Routine.objects.get().cron == "0 4 * * *"
    data["routines"]["nightly"]["task"] = "tests.acceptance.tasks.fail"
    with pytest.raises(ImportRefused, match="declared in the code of shop"):
        service.import_routines(data)
    with pytest.raises(ImportRefused, match="here it is shop"):
        service.import_routines(with_routines(nightly={"declared_in": "other"}))


def test_a_file_from_before_a_routine_was_declared_does_not_overrule_the_code(make: Make) -> None:
    declare_routine("nightly", {"task": NOTE, "cron": "0 3 * * *", "timezone": "UTC"}, "shop")
    with pytest.raises(ImportRefused, match="say declared_in: shop, or take this entry out"):
        service.import_routines(with_routines(nightly={"cron": "0 4 * * *"}))
    assert Routine.objects.get().cron == "0 3 * * *"


def test_a_family_can_be_turned_around(make: Make) -> None:
    make("a")
    make("b", parent="a")
    make("c", parent="b")
    service.import_routines(with_routines(c={}, b={"parent": "c"}, a={"parent": "b"}, new={"parent": "a"}))
    depths = dict(Routine.objects.values_list("name", "depth"))
    assert depths == {"c": 0, "b": 1, "a": 2, "new": 3}
    assert service.plan_import(service.export_routines()).is_idle


def test_a_parent_outside_of_the_file_counts(make: Make) -> None:
    """It may stand below an entry that is to stand below it."""
    make("top")
    make("outside", parent="top")
    plan = service.plan_import(with_routines(top={"parent": "outside"}))
    assert [problem.field for problem in plan.problems] == ["routines[top].parent"]


def test_members_join_move_and_leave(make: Make) -> None:
    data = FLEET | {"rotations": {"feeds": {}, "others": {"every": "1h", "phases": [{"name": "plan", "task": NOTE}]}}}
    service.import_routines(data)
    member = {"task": NOTE, "parent": "top", "rotation": "others"}
    top = {"task": NOTE, "rotation": "feeds"}
    service.import_routines(data | {"routines": {"a child": member, "top": top}})
    found = {each.routine.name: each.rotation.name for each in RotationMember.objects.all()}
    assert found == {"a child": "others", "top": "feeds"}
    assert Routine.objects.get(name="top").concurrency_policy == "FORBID"
    alone = {"format": 1, "routines": {"top": {"task": NOTE}}}
    service.import_routines(alone)
    assert RotationMember.objects.count() == 1
    assert service.plan_import(alone).is_idle


def test_what_is_there_refers_to_what_comes_with_the_file(make: Make) -> None:
    make("report", timeout_ms="5m")
    data = FLEET | {"routines": {"top": {"task": NOTE}, "report": {"task": NOTE}}}
    data["routines"]["report"] |= {"pool": "db", "parent": "top", "rotation": "feeds"}
    service.import_routines(data)
    report = Routine.objects.get(name="report")
    assert (report.pool.name, report.parent.name, report.rotation.name, report.depth) == ("db", "top", "feeds", 1)
    assert RotationMember.objects.get().routine == report
    change = ScheduleChange.objects.get(kind="updated")
    assert (change.after["pool"], change.after["parent"]) == (report.pool_id, report.parent_id)
    assert service.plan_import(data).is_idle


def test_a_hinted_routine_does_not_join(make: Make) -> None:
    make("report")
    service.propose_interval("report", "1h", ttl="1d", reason="slower")
    data = with_routines(report={"rotation": "feeds"}) | {"rotations": {"feeds": {}}}
    with pytest.raises(ImportRefused, match="clear its hints"):
        service.import_routines(data)


def test_a_rotation_changes_and_its_members_stay_fresh_as_it_says() -> None:
    service.import_routines(FLEET)
    changed = FLEET | {"rotations": {"feeds": {"budget": 4, "fresh_for": "2d", "cron": "0 * * * *", "timezone": "UTC"}}}
    (entry,) = [each for each in service.plan_import(changed).entries if each.name == "feeds"]
    assert {change.field for change in entry.changes} == {"budget", "fresh_for", "cron", "timezone", "every", "parent"}
    service.import_routines(changed)
    rotation = Rotation.objects.get()
    assert (rotation.budget, rotation.max_in_flight, rotation.routine.cron) == (4, 4, "0 * * * *")
    assert service.plan_import(changed).is_idle
    by_hand = {"format": 1, "rotations": {"feeds": {"every": None}}}
    service.import_routines(by_hand)
    assert Routine.objects.get(name="feeds").trigger_kind == "MANUAL"
    assert service.export_routines(["feeds"]) == by_hand


def test_the_default_pool_is_handed_over_and_that_is_told() -> None:
    service.create_pool("old", max_concurrent=1, is_default=True)
    data = {"format": 1, "pools": {"new": {"max_concurrent": 2, "default": True}}}
    assert shown(service.plan_import(data)) == {"new": "create", "old": "change"}
    service.import_routines(data)
    assert dict(Pool.objects.values_list("name", "is_default")) == {"old": None, "new": True}
    assert service.plan_import(data).is_idle
    service.import_routines({"format": 1, "pools": {"new": {"max_concurrent": 5}}})
    assert Pool.objects.filter(is_default=True).count() == 0


def test_a_task_that_only_workers_know_is_taken_if_asked_and_left_if_unchanged() -> None:
    data = {"format": 1, "routines": {"far": {"task": "far.away"}}}
    with pytest.raises(ImportRefused, match="no such task"):
        service.import_routines(data)
    service.import_routines(data, allow_unknown_task=True)
    assert service.plan_import(data).is_idle
    data["routines"]["far"]["every"] = "1h"
    service.import_routines(data)
    assert Routine.objects.get().interval_ms == 3_600_000
