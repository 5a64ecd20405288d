"""Secrets: not in the file, not in the plan, and in the ledger afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import ImportRefused
from routines_app.models import Routine
from tests.integration.conftest import NOTE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]

Make = Callable[..., Routine]
VARIABLE = "ROUTINES_SECRET_REPORT_KWARGS_PASSWORD"
KWARGS = {"password": "hunter2", "url": "postgres://ada:hunter2@db/shop", "shop": 7}


@pytest.fixture
def exported(make: Make) -> dict[str, Any]:
    make(kwargs=KWARGS, args=["--token", "hunter2"], description="its password: hunter2")
    return service.export_routines()


def wipe() -> None:
    Routine.objects.all().delete()


def test_nothing_shows_them(exported: dict[str, Any]) -> None:
    assert "hunter2" not in service.render_export(exported)
    assert exported["routines"]["report"]["kwargs"] == {
        "password": {"$secret": VARIABLE},
        "shop": 7,
        "url": {"$secret": "ROUTINES_SECRET_REPORT_KWARGS_URL"},
    }


def test_an_import_without_them_names_routine_place_and_variable(exported: dict[str, Any]) -> None:
    wipe()
    problems = service.plan_import(exported, secrets={}).problems
    assert [problem.field for problem in problems] == [
        "routines[report].description",
        "routines[report].args[1]",
        "routines[report].kwargs.password",
        "routines[report].kwargs.url",
    ]
    assert f"set {VARIABLE} in the environment" in str(problems[2])
    with pytest.raises(ImportRefused):
        service.import_routines(exported, secrets={})
    assert not Routine.objects.exists()


def test_the_environment_gives_them(exported: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    wipe()
    for place in ("DESCRIPTION", "ARGS_1", "KWARGS_PASSWORD", "KWARGS_URL"):
        monkeypatch.setenv(f"ROUTINES_SECRET_REPORT_{place}", f"new {place}")
    plan = service.plan_import(exported)
    assert "new " not in str(plan)
    service.import_routines(exported, digest=plan.digest)
    stored = Routine.objects.get()
    assert stored.kwargs == {"password": "new KWARGS_PASSWORD", "url": "new KWARGS_URL", "shop": 7}
    assert (stored.args, stored.description) == (["--token", "new ARGS_1"], "new DESCRIPTION")


def test_a_routine_that_is_there_keeps_its_own(exported: dict[str, Any]) -> None:
    """Staging's file comes to production, where the password is another one."""
    service.update_routine("report", kwargs=KWARGS | {"password": "production's"})
    exported["routines"]["report"]["timeout"] = "5m"
    assert service.plan_import(exported, secrets={}).problems == ()
    service.import_routines(exported, secrets={})
    stored = Routine.objects.get()
    assert (stored.kwargs, stored.timeout_ms) == (KWARGS | {"password": "production's"}, 300_000)


def test_a_variable_that_is_set_changes_it_and_the_plan_says_so_without_it(exported: dict[str, Any]) -> None:
    plan = service.plan_import(exported, secrets={VARIABLE: "newer"})
    (entry,) = plan.entries
    assert [(change.field, change.before, change.after) for change in entry.changes] == [
        ("kwargs", "(secret)", "(another secret)")
    ]
    service.import_routines(exported, secrets={VARIABLE: "newer"}, digest=plan.digest)
    assert Routine.objects.get().kwargs == KWARGS | {"password": "newer"}
    assert service.plan_import(exported, secrets={VARIABLE: "newer"}).is_idle


def test_another_task_does_not_get_what_was_kept_for_this_one(exported: dict[str, Any]) -> None:
    exported["routines"]["report"]["task"] = "tests.acceptance.tasks.fail"
    with pytest.raises(ImportRefused, match=VARIABLE):
        service.import_routines(exported, secrets={})


def test_another_variable_of_the_process_is_not_read(exported: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter3")
    exported["routines"]["report"]["kwargs"]["password"] = {"$secret": "DATABASE_PASSWORD"}
    with pytest.raises(ImportRefused, match="begins with ROUTINES_SECRET_"):
        service.import_routines(exported)


def test_errors_about_values_do_not_show_them(make: Make) -> None:
    data = {"format": 1, "routines": {"report": {"task": NOTE, "kwargs": {"password": {"$secret": VARIABLE}}}}}
    with pytest.raises(ImportRefused) as refused:
        service.import_routines(data, secrets={VARIABLE: "hunter2" + "x" * 100_000})
    assert "hunter2" not in str(refused.value)


def test_nor_do_other_phases(make: Make) -> None:
    service.create_rotation("feeds")
    service.create_rotation("others")
    make("report", rotation="feeds", kwargs={"token": "hunter2"}, phases=[{"name": "plan", "task": NOTE}])
    service.pause_routine("report", reason="password: hunter2")
    exported = service.export_routines(["report"])
    assert "hunter2" not in str(exported)
    assert service.plan_import(exported, secrets={}).is_idle
    entry = exported["routines"]["report"]
    for other in ({"rotation": "others"}, {"phases": [{"name": "plan", "task": "tests.acceptance.tasks.fail"}]}):
        data = {"format": 1, "routines": {"report": entry | other}}
        assert [each.field for each in service.plan_import(data, secrets={}).problems] == [
            "routines[report].kwargs.token",
            "routines[report].paused.reason",
        ]
