"""Routines that are declared in code, while their import goes wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from pytest_django import Settings

from routines_app import service
from routines_app.beat import declared
from routines_app.beat.declared import Declarations
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.verbs import declarations
from routines_app.verbs.declarations import code_scope
from tests.integration.conftest import Code
from tests.integration.holding import held, needs_row_locks

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
LATER = timedelta(hours=1)


def app(**entries: Any) -> Celery:
    made = Celery("declaring", set_as_current=False)
    made.conf.update(beat_schedule=entries, result_expires=None)
    return made


def status() -> str:
    return Routine.objects.get(name="report").status


def test_an_entry_that_cannot_be_imported_any_more_is_not_archived(redis_client: redis.Redis):
    """It is still declared; its routine stays what it was."""
    entry = {"task": TASK, "schedule": 60}
    now = clock.now()
    Declarations(app(report=entry)).sync(now)

    Declarations(app(report=entry | {"schedule": "nonsense"})).sync(now + LATER)
    assert status() == RoutineStatus.ACTIVE

    Declarations(app()).sync(now + 2 * LATER)
    assert status() == RoutineStatus.ARCHIVED


@needs_row_locks
def test_an_entry_whose_routine_was_held_all_the_time_is_not_archived(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
):
    """Nobody could note that it is declared, and the holder lets go just when it would be archived."""
    declarations = Declarations(app(report={"task": TASK, "schedule": 60}))
    now, note = clock.now(), declared.note_declared
    declarations.sync(now)

    def while_held(*arguments: Any) -> int:
        with held("routine", "name", ["report"]):
            return note(*arguments)

    monkeypatch.setattr(declared, "note_declared", while_held)
    declarations.sync(now + LATER)

    assert status() == RoutineStatus.ACTIVE


def test_what_a_new_beat_declares_is_not_archived_by_an_old_one_that_is_about_to(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The old one has found that nobody declares it, and the new one starts before it comes to archive it."""
    entry, now = {"task": TASK, "schedule": 60}, clock.now()
    Declarations(app(report=entry)).sync(now)
    new, look = Declarations(app(report=entry)), declared.undeclared

    def and_the_new_one_starts(*arguments: Any) -> list[tuple[int, str]]:
        found = look(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(declared, "undeclared", look)
            new.sync(now + LATER)
        return found

    monkeypatch.setattr(declared, "undeclared", and_the_new_one_starts)
    Declarations(app()).sync(now + LATER)

    assert status() == RoutineStatus.ACTIVE
    assert caplog.text == ""


def test_what_is_archived_while_a_new_beat_declares_it_comes_back(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
):
    """The new beat has seen it active, and an old one archives it before the new one has noted that it declares it."""
    entry, now = {"task": TASK, "schedule": 60}, clock.now()
    Declarations(app(report=entry)).sync(now)
    new, old, note = Declarations(app(report=entry)), Declarations(app()), declared.note_declared

    def after_the_old_one(names: list[str], *arguments: Any) -> int:
        if names:
            old.sync(now + LATER)
        return note(names, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(declared, "note_declared", after_the_old_one)
        new.sync(now + LATER)
    new.sync(now + LATER)

    assert status() == RoutineStatus.ACTIVE


def test_two_beats_that_archive_the_same_routine_complain_about_nothing(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    now, look = clock.now(), declared.undeclared
    Declarations(app(report={"task": TASK, "schedule": 60})).sync(now)
    first, second = Declarations(app()), Declarations(app())

    def and_the_other_is_faster(*arguments: Any) -> list[tuple[int, str]]:
        found = look(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(declared, "undeclared", look)
            first.sync(now + LATER)
        return found

    monkeypatch.setattr(declared, "undeclared", and_the_other_is_faster)
    second.sync(now + LATER)

    assert status() == RoutineStatus.ARCHIVED
    assert [record.getMessage() for record in caplog.records] == [
        "routine report is archived: no beat has declared it for a while"
    ]


def test_a_failed_import_is_tried_again_at_the_next_turn(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch):
    """What went wrong may be over then; the others are not written a second time."""
    now = clock.now()
    declare, calls = declared.declare_routine, []

    def fail_once(name: str, fields: dict[str, Any], scope: str) -> Routine:
        calls.append(name)
        if calls.count("report") == 1 and name == "report":
            raise InvalidValue("name", name, "not now")
        return declare(name, fields, scope)

    monkeypatch.setattr(declared, "declare_routine", fail_once)
    entry = {"task": TASK, "schedule": 60}
    declarations = Declarations(app(report=entry, other=entry))
    declarations.sync(now)
    assert not Routine.objects.filter(name="report").exists()

    declarations.sync(now)
    declarations.sync(now)
    assert status() == RoutineStatus.ACTIVE
    assert (calls.count("report"), calls.count("other")) == (2, 1)


def names(**wanted: Any) -> set[str]:
    return set(Routine.objects.filter(**wanted).values_list("name", flat=True))


def test_a_beat_imports_both_sources_and_each_archives_its_own(redis_client: redis.Redis, code: Code):
    """After the grace, and not what the other declares."""
    now = clock.now()
    code.says(**{"in code": {"every": "1h"}, "gone from code": {"every": "1h"}})
    entry = {"task": TASK, "schedule": 60}
    Declarations(app(**{"in schedule": entry, "gone from schedule": entry})).sync(now)
    assert names(declared_in="declaring") == {"in schedule", "gone from schedule"}
    assert names(declared_in=code_scope()) == {"in code", "gone from code"}

    code.says(**{"in code": {"every": "1h"}})
    newer = Declarations(app(**{"in schedule": entry}))
    newer.sync(now + timedelta(minutes=9))
    assert names(status=RoutineStatus.ARCHIVED) == set()
    newer.sync(now + LATER)
    assert names(status=RoutineStatus.ARCHIVED) == {"gone from code", "gone from schedule"}
    assert names(status=RoutineStatus.ACTIVE) == {"in code", "in schedule"}


def test_a_beat_writes_once_and_an_edit_outlives_its_start(redis_client: redis.Redis, code: Code):
    """In a rolling deploy an old and a new one live side by side: neither writes again what it knows."""
    now = clock.now()
    code.says(report={"every": "1h", "max_attempts": 2})
    old = Declarations(app())
    old.sync(now)
    service.update_routine("report", max_attempts=7, actor="ada")
    code.says(report={"every": "2h", "max_attempts": 3})
    new = Declarations(app())
    for beat in (new, old, new, old):
        beat.sync(now)
    routine = Routine.objects.get()
    assert (routine.interval_ms, routine.max_attempts) == (7_200_000, 7)
    assert service.differences(routine) == {"max_attempts": 3}


def test_code_that_cannot_be_read_archives_nothing(
    redis_client: redis.Redis, code: Code, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """It says nothing about what is gone; the schedule of the app is imported all the same, and it is said once."""
    now = clock.now()
    code.says(report={"every": "1h"})
    Declarations(app()).sync(now)

    def broken(name: str) -> None:
        raise ImportError("no torch here")

    code.says()
    with monkeypatch.context() as patch:
        patch.setattr(declarations, "autodiscover_modules", broken)
        beat = Declarations(app(entry={"task": TASK, "schedule": 60}))
        for _ in range(2):
            beat.sync(now + LATER)
    assert caplog.text.count("no declared routine is imported: ImportError: no torch here") == 1
    assert (status(), names()) == (RoutineStatus.ACTIVE, {"report", "entry"})
    beat.sync(now + LATER)
    assert status() == RoutineStatus.ARCHIVED


def test_a_wrong_declaration_is_said_with_its_place_and_not_archived(
    redis_client: redis.Redis, code: Code, caplog: pytest.LogCaptureFixture
):
    now = clock.now()
    code.says(report={"every": "1h"})
    Declarations(app()).sync(now)
    code.says(report={"every": "often"})
    Declarations(app()).sync(now + LATER)
    assert "declared routine 'report' (tests/integration/conftest.py:" in caplog.text
    assert status() == RoutineStatus.ACTIVE


def test_a_beat_makes_no_second_routine_of_a_taken_name(
    redis_client: redis.Redis, code: Code, caplog: pytest.LogCaptureFixture
):
    """It says so once, goes on with the others, and looks again at each turn: somebody may make room, or adopt it."""
    service.create_routine("report", task=TASK, every="1h")
    code.says(report={"every": "1h"}, other={"every": "1h"})
    beat = Declarations(app())
    for _ in range(3):
        beat.sync(clock.now())
    assert names() == {"report", "other"}
    assert caplog.text.count("routines sync --adopt") == 1
    service.archive_routine("report")
    beat.sync(clock.now())
    assert names(status=RoutineStatus.ACTIVE) == {"report (code:code)", "other"}


def test_a_beat_leaves_code_alone_when_it_is_told_to(redis_client: redis.Redis, code: Code, settings: Settings):
    """The schedule of the app has a setting of its own."""
    settings.ROUTINES = settings.ROUTINES | {"SYNC_DECLARED": False}
    code.says(report={"every": "1h"})
    Declarations(app(entry={"task": TASK, "schedule": 60})).sync(clock.now())
    assert names() == {"entry"}
    settings.ROUTINES = settings.ROUTINES | {"SYNC_DECLARED": True, "IMPORT_BEAT_SCHEDULE": False}
    Declarations(app(other={"task": TASK, "schedule": 60})).sync(clock.now())
    assert names() == {"entry", "report"}


def test_a_large_schedule_is_imported_a_few_at_a_time(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch):
    """What is due must not wait for all of it, and nothing of it is taken for gone meanwhile."""
    monkeypatch.setattr(declared, "AT_ONCE", 2)
    entry, now = {"task": TASK, "schedule": 60}, clock.now()
    beat = Declarations(app(**{f"report {number}": entry for number in range(5)}))
    assert [(beat.sync(now), len(names())) for _ in range(4)] == [(True, 2), (True, 4), (False, 5), (False, 5)]

    beat = Declarations(app())
    archived = [(beat.sync(now + LATER), len(names(status=RoutineStatus.ARCHIVED))) for _ in range(3)]
    assert archived == [(True, 2), (True, 4), (False, 5)]


def test_what_breaks_an_import_does_not_keep_the_others_waiting(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
):
    """It is tried again in the next turn, and nothing is archived by then."""
    declare, now = declared.declare_routine, clock.now()

    def broken_once(name: str, fields: dict[str, Any], scope: str) -> Routine:
        if name == "report":
            monkeypatch.setattr(declared, "declare_routine", declare)
            raise RuntimeError("a bug")
        return declare(name, fields, scope)

    monkeypatch.setattr(declared, "declare_routine", broken_once)
    entry = {"task": TASK, "schedule": 60}
    beat = Declarations(app(report=entry, other=entry))
    with pytest.raises(RuntimeError):
        beat.sync(now)
    for _ in range(2):
        beat.sync(now)
    assert names() == {"report", "other"}
