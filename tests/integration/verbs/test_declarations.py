"""What the project's code declares: read with its place, wrong ones by themselves; and what `check` says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Task, shared_task
from celery.app import app_or_default
from pytest_django import Settings

from routines_app import declare, routine
from routines_app.declared_checks import check_declarations
from routines_app.verbs import declarations
from routines_app.verbs.checking import known_tasks
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.declarations import read_declarations
from tests.integration.conftest import NOTE

pytestmark = pytest.mark.usefixtures("code")
HERE = "tests/integration/verbs/test_declarations.py:"


@pytest.fixture
def tasks() -> Iterator[Any]:
    """Tasks that a test makes are gone after it."""
    registered_tasks()  # the project's own are imported, and stay
    registered = app_or_default().tasks
    before = dict(registered)
    yield registered
    for name in registered.keys() - before.keys():
        del registered[name]


def test_a_decorator_stands_above_or_below_that_of_the_task(tasks: Any) -> None:
    """Above it knows the task; below it, the function that a task is made of, whatever its name or its kind."""

    @routine(every="1h")
    @shared_task(name="shop.tasks.above")
    def above() -> None: ...

    @shared_task(name="shop.tasks.below")
    @routine(every="2h")
    def below() -> None: ...

    @app_or_default().task(name="shop.bound", bind=True, autoretry_for=(OSError,))
    @routine("bound one", every="3h")
    def bound(self: Any) -> None: ...

    assert {name: fields["task"] for name, fields in read_declarations().fields.items()} == {
        "shop.above": "shop.tasks.above",
        "shop.below": "shop.tasks.below",
        "bound one": "shop.bound",
    }


def test_a_task_may_have_several(tasks: Any) -> None:
    @routine("eu", cron="0 3 * * *", kwargs={"region": "eu"})
    @routine("us", cron="0 9 * * *", kwargs={"region": "us"})
    @shared_task(name="shop.tasks.regional")
    def regional(region: str) -> None: ...

    found = read_declarations()
    assert {name: fields["kwargs"]["region"] for name, fields in found.fields.items()} == {"eu": "eu", "us": "us"}


def test_a_function_that_is_no_task_is_refused() -> None:
    @routine(every="1h")
    def helper() -> None: ...

    (why,) = read_declarations().refused.values()
    assert "put @routine on a task" in why


def test_modules_called_routines_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each installed app, when somebody reads."""
    asked: list[str] = []
    monkeypatch.setattr(declarations, "autodiscover_modules", asked.append)
    read_declarations()
    assert asked == ["routines"]


def test_the_settings_declare_too(settings: Settings) -> None:
    """Under either name; they say the task among the fields."""
    settings.ROUTINES = settings.ROUTINES | {"DECLARED": {"one": {"task": NOTE, "every": "1h"}}}
    settings.ROUTINES_DECLARED = {"two": {"task": NOTE, "cron": "0 3 * * *"}}
    found = read_declarations()
    assert (found.fields.keys(), found.refused) == ({"one", "two"}, {})
    assert found.places == {"one": ["ROUTINES['DECLARED']"], "two": ["ROUTINES_DECLARED"]}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"cron": "0 25 * * *"}, "cron: '0 25 * * *' is not accepted"),
    ({"max_atempts": 3}, "did you mean max_attempts"),
    ({"cron": "0 3 * * *", "every": "1h"}, "give cron or every, not both"),
    ({"every": 60}, "every: 60 is not accepted"),
    ({"task": ""}, "give the registered name of a Celery task"),
    ({"task": 7}, "put @routine on a task"),
    ({"status": "PAUSED"}, "pause_routine"),
    ({"args": [object()]}, "JSON values only"),
]


@pytest.mark.parametrize(("fields", "why"), WRONG)
def test_check_says_the_place_the_field_and_what_would_be_right(fields: dict[str, Any], why: str) -> None:
    """One that is wrong does not keep the others from being read."""
    declare("bad", **({"task": NOTE} | fields))
    declare("good", task=NOTE, every="1h")
    (error,) = check_declarations()
    assert error.id == "routines.W020"
    assert f"The routine 'bad', declared in {HERE}" in error.msg
    assert why in error.msg
    assert read_declarations().fields.keys() == {"good"}


@pytest.mark.parametrize("given", [7, ["task"], {"every": "1h"}, {"task": NOTE, "name": "other"}])
def test_a_setting_that_says_no_routine_is_refused(settings: Settings, given: Any) -> None:
    settings.ROUTINES_DECLARED = {"odd": given}
    (error,) = check_declarations()
    assert (error.id, "ROUTINES_DECLARED" in error.msg) == ("routines.W020", True)


def test_a_name_that_two_places_declare_is_neithers(settings: Settings) -> None:
    """Which of them came first depends on who imports what."""
    declare("twice", task=NOTE, every="1h")
    settings.ROUTINES_DECLARED = {"twice": {"task": NOTE, "every": "2h"}}
    (error,) = check_declarations()
    assert error.id == "routines.W021"
    assert HERE in error.msg
    assert "ROUTINES_DECLARED" in error.msg
    found = read_declarations()
    assert (found.fields, found.names) == ({}, ["twice"])


def test_a_module_that_is_imported_again_declares_the_same() -> None:
    for _ in range(2):
        declare("again", task=NOTE, every="1h")
    found = read_declarations()
    assert (found.refused, found.fields["again"]["every"]) == ({}, "1h")


def test_a_helper_that_declares_a_name_twice_is_told_so() -> None:
    """It does so from one place; neither silently wins."""
    for every in ("1h", "2h"):
        declare("twice", task=NOTE, every=every)
    (warning,) = check_declarations()
    assert (warning.id, "declared twice" in warning.msg) == ("routines.W021", True)


def test_a_name_that_is_none_is_refused_by_itself() -> None:
    declare(["x"], task=NOTE, every="1h")  # type: ignore[arg-type]
    declare("good", task=NOTE, every="1h")
    found = read_declarations()
    assert (found.fields.keys(), found.refused.keys()) == ({"good"}, {"['x']"})
    assert "name: ['x'] is not accepted" in found.refused["['x']"]


def test_the_class_of_a_task_is_told_apart() -> None:
    """It is no mistake of decorators."""

    @routine(every="1h")
    class Report(Task):  # type: ignore[type-arg]
        name = "shop.tasks.report_class"

    (why,) = read_declarations().refused.values()
    assert "register_task" in why


def test_check_doubts_a_task_that_nobody_knows() -> None:
    declare("elsewhere", task="tests.acceptance.tasks.not", every="1h")
    (warning,) = check_declarations()
    assert (warning.id, f"did you mean {NOTE}" in warning.msg) == ("routines.W019", True)


def test_check_warns_where_a_module_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A web process may lack what only workers need: its commands go on."""

    def broken(name: str) -> None:
        raise ImportError("no torch here")

    monkeypatch.setattr(declarations, "autodiscover_modules", broken)
    (warning,) = check_declarations()
    assert (warning.id, "ImportError: no torch here" in warning.msg) == ("routines.W018", True)


def test_reading_declarations_while_tasks_are_imported_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Celery runs Django's checks when it imports task modules, and a check reads declarations."""
    known_tasks._import_task_modules.cache_clear()
    declare("one", task=NOTE, every="1h")
    assert check_declarations() == []
    assert "Recursion" not in caplog.text
