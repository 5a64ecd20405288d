"""Copying a routine."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.models import Pool, Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.verbs.checking.validation import FIELDS
from tests.browser.rotation_scene import make_rotation
from tests.browser.scenes import make_routine
from tests.integration.conftest import NOTE

SET = {
    "cron": "5 4 * * *",
    "timezone": "Europe/Paris",
    "kwargs": {"token": "s3cret"},
    "args": [1],
    "tags": ["a"],
    "group": "g",
    "park_after": 3,
    "concurrency_policy": "FORBID",
    "retry_for": ["builtins.ValueError"],
    "description": "why",
}


@pytest.mark.django_db
def test_a_copy_has_all_that_a_person_sets_and_nothing_that_happened() -> None:
    """Secrets too; it is paused, of nobody's code, without the failures of the other."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    original = service.create_routine("first", task=NOTE, pool=pool, **SET)
    Routine.objects.filter(pk=original.pk).update(declared_in="code:code", declared={"cron": "x"}, version=7)
    RoutineState.objects.filter(pk=original.pk).update(failure_count=4, last_run_at=clock.now())
    copy = service.copy_routine("first", "second", actor="ann")
    original.refresh_from_db()
    same = FIELDS.keys() - {"name"}
    assert {field: getattr(copy, field) for field in same} == {field: getattr(original, field) for field in same}
    assert (copy.status, copy.declared_in, copy.declared, copy.shadow) == ("PAUSED", "database", None, False)
    assert "first" in copy.pause_reason
    state = RoutineState.objects.get(pk=copy.pk)
    assert (state.failure_count, state.last_run_at, state.next_run_at) == (0, None, None)
    made = ScheduleChange.objects.get(routine_id=copy.pk, kind="created")
    assert (made.actor, made.after["copied_from"]) == ("ann", "first")
    assert "s3cret" not in str(made.after)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"every": "10m"}, "INTERVAL"),
        ({"trigger_kind": "MANUAL"}, "MANUAL"),
        ({"cron": "@hourly"}, "CRON"),
        ({}, "CRON"),
    ],
)
def test_changes_hold_for_the_copy_alone(changes: dict[str, str], kind: str) -> None:
    """Another trigger replaces the whole trigger; without a pause it is planned at once."""
    original = make_routine("first", pool=Pool.objects.create(name="p", max_concurrent=1))
    copy = service.copy_routine(original, "second", paused=False, pool=None, **changes)
    assert (copy.trigger_kind, copy.status, copy.pool) == (kind, "ACTIVE", None)
    assert (RoutineState.objects.get(pk=copy.pk).next_run_at is None) == (kind == "MANUAL")
    original.refresh_from_db()
    assert (original.trigger_kind, original.pool is None) == ("CRON", False)


@pytest.mark.django_db
def test_what_cannot_be_copied_is_refused_and_nothing_is_left() -> None:
    """A name that is taken, a moment that is over, a rotation's clock, and what was edited since it was read."""
    first = make_routine("first")
    over = make_routine("over", trigger_kind="ONCE", cron="", once_at=clock.now() - timedelta(days=1))
    rotation = make_rotation("round")
    with pytest.raises(service.DuplicateName):
        service.copy_routine(first, "over")
    with pytest.raises(service.InvalidValue, match="to come"):
        service.copy_routine(over, "again")
    with pytest.raises(service.NotAllowed, match="rotation"):
        service.copy_routine(rotation.routine, "other")
    with pytest.raises(service.StaleVersion):
        service.copy_routine(first, "second", version=first.version + 1)
    assert Routine.objects.count() == 3


@pytest.mark.django_db
def test_the_command_line_copies() -> None:
    """Paused, unless it is asked otherwise."""
    make_routine("first")
    out = StringIO()
    call_command("routines", "copy", "first", "second", stdout=out)
    call_command("routines", "copy", "first", "third", "--active", stdout=out)
    assert "second is a copy of first, paused until it is resumed" in out.getvalue()
    assert dict(Routine.objects.values_list("name", "status")) == {
        "first": "ACTIVE",
        "second": "PAUSED",
        "third": "ACTIVE",
    }
