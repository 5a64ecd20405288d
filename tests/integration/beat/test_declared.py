"""Routines that are declared in code, while their import goes wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery

from routines_app.beat import declared
from routines_app.beat.declared import Declarations
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from tests.integration.holding import held, needs_row_locks

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
LATER = timedelta(hours=1)


def app(**entries: Any) -> Celery:
    made = Celery("declaring", set_as_current=False)
    made.conf.beat_schedule = entries
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
