"""What an import leaves is what the file says: the same file a second time finds nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from routines_app import service
from routines_app.core.errors import ImportRefused
from routines_app.models import Pool, Rotation, Routine
from tests.integration.conftest import NOTE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]

Make = Callable[..., Routine]


def entry(**fields: Any) -> dict[str, Any]:
    return {"format": 1, "routines": {"report": {"task": NOTE} | fields}}


@pytest.mark.parametrize("here", [{"every": "1h"}, {"cron": "0 9 * * *"}, {"every": "2h"}, {}])
def test_two_schedules_are_refused_for_one_that_is_there_too(make: Make, here: dict[str, Any]) -> None:
    make(**here)
    before = Routine.objects.values_list("trigger_kind", "cron", "interval_ms").get()
    with pytest.raises(ImportRefused, match="give cron or every, not both"):
        service.import_routines(entry(cron="0 9 * * *", every="1h"))
    assert Routine.objects.values_list("trigger_kind", "cron", "interval_ms").get() == before


def test_one_schedule_takes_the_place_of_the_other(make: Make) -> None:
    make(every="1h")
    for said in ({"cron": "0 9 * * *", "timezone": "UTC"}, {"every": "2h"}, {}):
        service.import_routines(entry(**said))
        assert service.plan_import(entry(**said)).is_idle
        assert service.export_routines() == entry(**said)


def test_phases_that_are_left_over_do_not_come_back(make: Make) -> None:
    service.create_rotation("feeds")
    make(rotation="feeds", phases=[{"name": "plan", "task": NOTE}])
    service.update_routine("report", rotation=None)
    data = entry(rotation="feeds")
    service.import_routines(data)
    assert Routine.objects.get(name="report").phases == []
    assert service.plan_import(data).is_idle


def test_phases_that_are_left_over_and_said_again_are_taken(make: Make) -> None:
    service.create_rotation("feeds")
    phases = [{"name": "plan", "task": NOTE}]
    make(rotation="feeds", phases=phases)
    service.update_routine("report", rotation=None)
    service.import_routines(entry(rotation="feeds", phases=phases))
    assert Routine.objects.get(name="report").phases == phases
    assert service.plan_import(entry(rotation="feeds", phases=phases)).is_idle


def test_archived_targets_come_along_with_everything(make: Make) -> None:
    """A parent of an archived parent too; what nobody refers to stays away."""
    service.create_rotation("feeds")
    make("top")
    make("middle", parent="top")
    make("unneeded")
    make("child", parent="middle", rotation="feeds")
    for name in ("feeds", "middle", "top", "unneeded"):
        service.archive_routine(name)
    data = service.export_routines()
    assert {name: each.get("archived") for name, each in data["routines"].items()} == {
        "child": None,
        "middle": True,
        "top": True,
    }
    assert data["rotations"]["feeds"]["archived"] is True
    assert service.plan_import(data).is_idle
    Routine.objects.update(parent=None, rotation=None)
    Rotation.objects.all().delete()
    Routine.objects.all().delete()
    service.import_routines(data)
    assert service.export_routines() == data
    assert service.plan_import(data).is_idle


@pytest.mark.parametrize("number", [1e23, -1e20, 1e16, 2.0, 0.1])
def test_large_numbers_are_the_same_when_they_come_back(number: float) -> None:
    data = entry(kwargs={"number": number, "nested": [{"number": number}]})
    service.import_routines(data)
    assert service.plan_import(data).is_idle
    assert service.plan_import(service.export_routines()).is_idle


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), {1, 2}, b"x"])
def test_what_is_no_json_is_a_problem_and_no_crash(make: Make, value: Any) -> None:
    make(kwargs={"value": 1})
    (problem,) = service.plan_import(entry(kwargs={"value": value})).problems
    assert problem.field == "routines[report].kwargs"


def test_pools_that_the_database_takes_for_one_are_refused() -> None:
    service.create_pool("db", max_concurrent=1)
    problems = service.plan_import({"format": 1, "pools": {"DB": {"max_concurrent": 2}}}).problems
    if connection.vendor == "mysql":
        assert [each.field for each in problems] == ["pools[DB].name"]
    else:
        assert problems == ()
    assert Pool.objects.count() == 1


def test_a_name_in_an_error_says_nothing_to_a_terminal() -> None:
    data = {"format": 1, "routines": {"a\x1b[2J\u202eb": {"task": NOTE}}}
    (problem,) = service.plan_import(data).problems
    assert problem.field == "routines[a\\u001b[2J\\u202eb].name"
    assert str(problem).isprintable()
