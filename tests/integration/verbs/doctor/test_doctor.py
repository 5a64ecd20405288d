"""The doctor: each question stands alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from threading import Event

import pytest
from django.db import OperationalError

from routines_app import service
from routines_app.verbs.doctor import doctor as module
from routines_app.verbs.doctor.answers import Answer, Level, ok, some_of, warning, worst
from routines_app.verbs.doctor.doctor import CHECKS, DATABASE, _Check
from tests.integration.verbs.fleets import everything
from tests.integration.verbs.health.nodes import seen
from tests.integration.verbs.rows import waiting_run

ASKED = [check.name for check in CHECKS]


def replaced(monkeypatch: pytest.MonkeyPatch, **asks: Callable[[], object]) -> None:
    """Some of the checks ask something else."""
    checks = []
    for check in CHECKS:
        ask = asks.get(check.name.replace(" ", "_"))
        new = check if ask is None else _Check(check.name, ask, check.needs_database)
        if check is DATABASE:
            monkeypatch.setattr(module, "DATABASE", new)
        checks.append(new)
    monkeypatch.setattr(module, "CHECKS", tuple(checks))


def test_every_check_has_a_line_in_a_fixed_order(ledger: None) -> None:
    seen("beat@a:1")
    seen("worker@a:1")
    found = service.doctor(seconds=60)
    assert [each.check for each in found] == ASKED
    assert {each.level for each in found} <= {Level.OK, Level.WARNING}, found
    assert list(asdict(found[0])) == ["check", "level", "found", "advice"]


def test_one_that_raises_is_a_line_and_the_others_go_on(ledger: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are masked, and only the first line is told."""

    def fail() -> Answer:
        raise RuntimeError("password=hunter2 is wrong\nat line 3")

    def fail_later() -> object:
        yield ok("half")
        raise ZeroDivisionError

    replaced(monkeypatch, isolation=fail, parked=fail_later)
    found = {each.check: each for each in service.doctor(seconds=60)}
    assert list(found) == ASKED
    assert found["isolation"].level == "unknown"
    assert found["isolation"].found.startswith("could not be asked: password=")
    assert "hunter2" not in found["isolation"].found
    assert "line 3" not in found["isolation"].found
    assert found["parked"].found == "could not be asked: ZeroDivisionError"
    assert found["failing"].level == "ok"


def test_one_that_hangs_is_a_line_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither asks a server: on a busy machine that may take longer than the one that hangs is waited for."""
    thawed = Event()
    hangs = _Check("hangs", lambda: ok(str(thawed.wait(60))), needs_database=False)
    monkeypatch.setattr(module, "CHECKS", (hangs, _Check("well", lambda: ok("fine"), needs_database=False)))
    found = service.doctor(seconds=2)
    thawed.set()
    assert [(each.check, each.level) for each in found] == [("hangs", "unknown"), ("well", "ok")]
    assert found[0].found == "could not be asked: no answer within 2 s"


def test_without_a_database_nothing_else_waits_for_it(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is an error; what needs it is not asked, and what does not, is."""

    def away() -> Answer:
        raise OperationalError("connection refused")

    def never() -> Answer:
        raise AssertionError("asked")

    replaced(monkeypatch, database=away, beats=never, system_checks=lambda: ok("fine"))
    found = {each.check: each for each in service.doctor(seconds=60)}
    assert (found["database"].level, found["database"].found) == ("error", "could not be asked: connection refused")
    assert found["beats"].found == "could not be asked: the database could not be asked"
    assert {name for name, each in found.items() if each.level == "unknown"} == {
        check.name for check in CHECKS if check.needs_database
    }
    assert found["broker"].level == found["redis"].level == "ok"


def test_nothing_is_written(ledger: None) -> None:
    """In no table of ours: what was there is there."""
    routine = service.create_routine("report", task="tests.acceptance.tasks.note", every="1h")
    service.create_rotation("feeds")
    waiting_run(routine, 1)
    seen("beat@a:1", seconds=999)
    before = everything()
    assert before["Node"]
    assert before["RoutineRun"]
    service.doctor(seconds=60)
    assert everything() == before


def test_the_worst_level_counts() -> None:
    assert worst([]) is Level.OK
    assert worst([Level.OK, Level.UNKNOWN]) is Level.UNKNOWN
    assert worst([Level.WARNING, Level.UNKNOWN]) is Level.WARNING
    assert worst([Level.ERROR, Level.WARNING]) is Level.ERROR


def test_a_line_has_an_end() -> None:
    assert some_of(["a", "b", "c"]) == "a, b, c"
    assert some_of(list("abcde")) == "a, b, c and 2 more"
    assert warning("x", "y").advice == "y"
