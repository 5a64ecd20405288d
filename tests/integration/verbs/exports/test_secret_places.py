"""Secrets that only a file calls so, and where those go that a routine keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import ImportRefused, StaleVersion
from routines_app.models import Routine
from tests.integration.conftest import NOTE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("time")]

Make = Callable[..., Routine]
SHOP = "ROUTINES_SECRET_OF_THE_SHOP"
TOKEN = "ROUTINES_SECRET_REPORT_KWARGS_TOKEN"


def entry(**fields: Any) -> dict[str, Any]:
    return {"format": 1, "routines": {"report": {"task": NOTE} | fields}}


def test_a_place_that_only_the_file_calls_secret_is_hidden_before_and_after(make: Make) -> None:
    make(kwargs={"shop": "old-hunter2"})
    data = entry(kwargs={"shop": {"$secret": SHOP}}, timeout="5m")
    plan = service.plan_import(data, secrets={SHOP: "new-hunter2"})
    assert "hunter2" not in str(plan)
    assert [(each.field, each.before, each.after) for each in plan.entries[0].changes] == [
        ("kwargs", "(secret)", "(another secret)"),
        ("timeout", None, "5m"),
    ]


def test_what_is_created_shows_the_variable_that_the_file_names() -> None:
    plan = service.plan_import(entry(kwargs={"shop": {"$secret": SHOP}}), secrets={SHOP: "hunter2"})
    after = {each.field: each.after for each in plan.entries[0].changes}
    assert after["kwargs"] == {"shop": {"$secret": SHOP}}


def test_so_is_the_reason_of_a_pause(make: Make) -> None:
    make()
    service.pause_routine("report", reason="old-hunter2")
    own = "ROUTINES_SECRET_REPORT_PAUSED_REASON"
    plan = service.plan_import(entry(paused={"reason": {"$secret": own}}), secrets={own: "new-hunter2"})
    assert "hunter2" not in str(plan)
    assert [each.field for each in plan.entries[0].changes] == ["paused"]


@pytest.mark.parametrize("fields", [{"description": {"$secret": SHOP}}, {"paused": {"reason": {"$secret": SHOP}}}])
def test_no_other_secret_becomes_a_text_that_is_shown(fields: dict[str, Any]) -> None:
    """Whoever writes the file would read it in the admin."""
    (problem,) = service.plan_import(entry(**fields), secrets={SHOP: "hunter2"}).problems
    assert "shown to everybody" in str(problem)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("kwargs", {"kwargs": {"$secret": SHOP}}),
        ("options", {"options": {"exchange": {"$secret": SHOP}}}),
        ("description", {"description": {"$secret": SHOP}}),
        ("phases[0].name", {"phases": [{"name": {"$secret": SHOP}, "task": NOTE}]}),
        ("phases", {"phases": {"$secret": SHOP, "is": "json"}}),
        ("paused.reason", {"paused": {"reason": {"$secret": SHOP}}}),
    ],
)
def test_no_error_shows_what_a_variable_holds(field: str, fields: dict[str, Any]) -> None:
    given = '[{"hunter2": "hunter2"}]' if field == "phases" else "hunter2:" + "\x07" + "x" * 20_000
    with pytest.raises(ImportRefused) as refused:
        service.import_routines(entry(**fields), secrets={SHOP: given})
    assert f"routines[report].{field}" in [each.field for each in refused.value.problems]
    assert "hunter2" not in str(refused.value)
    assert not any("hunter2" in str(each.value) for each in refused.value.problems)


def test_an_error_about_something_else_shows_its_value() -> None:
    data = entry(kwargs={"shop": {"$secret": SHOP}}, timeout="soon")
    (problem,) = service.plan_import(data, secrets={SHOP: "x"}).problems
    assert problem.value == "soon"


@pytest.mark.parametrize("is_there", [True, False])
def test_another_secret_is_another_plan(make: Make, is_there: bool) -> None:
    if is_there:
        make(kwargs={"token": "first"})
    data = entry(kwargs={"token": {"$secret": TOKEN}})
    plan = service.plan_import(data, secrets={TOKEN: "second"})
    assert plan.digest == service.plan_import(data, secrets={TOKEN: "second"}).digest
    with pytest.raises(StaleVersion):
        service.import_routines(data, secrets={TOKEN: "third"}, digest=plan.digest)
    service.import_routines(data, secrets={TOKEN: "second"}, digest=plan.digest)
    assert Routine.objects.get().kwargs == {"token": "second"}


def test_a_secret_that_has_changed_here_is_another_plan(make: Make) -> None:
    make(kwargs={"token": "first"})
    data = entry(kwargs={"token": {"$secret": TOKEN}})
    plan = service.plan_import(data, secrets={TOKEN: "second"})
    service.update_routine("report", kwargs={"token": "somebody's"})
    with pytest.raises(StaleVersion):
        service.import_routines(data, secrets={TOKEN: "second"}, digest=plan.digest)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"queue": "theirs"},
        {"options": {"exchange": "theirs"}},
        {"args": ["https://theirs.example"]},
        {"kwargs": {"url": "https://theirs.example", "token": {"$secret": TOKEN}}},
        {"kwargs": {"token": {"$secret": TOKEN}}},
        {"kwargs": {"url": {"$secret": SHOP}, "token": {"$secret": TOKEN}}},
    ],
)
def test_a_kept_secret_goes_nowhere_else(make: Make, elsewhere: dict[str, Any]) -> None:
    make(kwargs={"url": "https://ours.example", "token": "hunter2"}, queue="ours")
    same = {"kwargs": {"url": "https://ours.example", "token": {"$secret": TOKEN}}, "queue": "ours"}
    assert service.plan_import(entry(**same), secrets={}).is_idle
    given = {SHOP: "https://another.example"}
    problems = service.plan_import(entry(**(same | elsewhere)), secrets=given).problems
    assert [each.field for each in problems] == ["routines[report].kwargs.token"]
    assert f"set {TOKEN}" in str(problems[0])
    assert service.plan_import(entry(**(same | elsewhere)), secrets=given | {TOKEN: "x"}).problems == ()


def test_who_sets_the_variable_of_one_place_keeps_the_others(make: Make) -> None:
    make(kwargs={"shop": "ours", "token": "hunter2"})
    own = "ROUTINES_SECRET_REPORT_KWARGS_SHOP"
    data = entry(kwargs={"shop": {"$secret": own}, "token": {"$secret": TOKEN}})
    service.import_routines(data, secrets={own: "newer"})
    assert Routine.objects.get().kwargs == {"shop": "newer", "token": "hunter2"}
