"""`@routine` and `declare`: what they note, and that they do nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest
from celery import Celery

import routines_app
from routines_app import declare, declaring, routine


@pytest.fixture(autouse=True)
def nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaring, "_declared", [])


def test_a_task_stays_as_it_is_and_is_not_made_early() -> None:
    """Whoever asked a lazy task for its name would make all tasks of an app that is not complete yet."""
    app = Celery("early", set_as_current=False)

    @app.task
    def report() -> None: ...

    assert routine(cron="0 3 * * *")(report) is report
    assert not app.finalized
    (declared,) = declaring.declarations()
    assert (declared.name, declared.fields) == ("", {"cron": "0 3 * * *"})


def test_a_declaration_knows_its_place() -> None:
    """For messages: a file and a line."""

    @routine("nightly", every="1h")
    def report() -> None: ...

    declare("weekly", task="shop.tasks.report", every="7d")
    places = [each.place.rpartition(":") for each in declaring.declarations()]
    assert {file for file, _, _ in places} == {"tests/unit/test_declaring.py"}
    assert int(places[1][2]) - int(places[0][2]) == 3


def test_a_directory_that_is_gone_is_no_reason_not_to_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("os.getcwd", gone)
    declare("weekly", task="shop.tasks.report", every="7d")
    (declared,) = declaring.declarations()
    assert "tests/unit/test_declaring.py:" in declared.place


def test_a_decorator_without_parentheses_says_so() -> None:
    with pytest.raises(TypeError, match="parentheses"):

        @routine
        def report() -> None: ...


def test_declaring_needs_no_django() -> None:
    """A tasks.py is imported before apps are ready, in any process."""
    code = "import sys; from routines_app import routine, declare; assert 'django' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=routines_app.__path__[0] + "/..")
