"""A name that code declares and somebody else has: never two routines that both fire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from celery.app import app_or_default
from pytest_django import Settings

from routines_app import service
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.service import Act
from routines_app.verbs import adopt, declare
from routines_app.verbs.adopt import app_scope
from routines_app.verbs.declarations import code_scope
from routines_app.verbs.declare import declare_routine, undeclared
from tests.integration.conftest import NOTE, Code

Make = Callable[..., Routine]
OTHER_TASK = "tests.acceptance.tasks.sleepy"


def synced(*, adopt: bool = False, dry_run: bool = False) -> service.Step:
    (step,) = service.sync_declared(adopt=adopt, dry_run=dry_run, actor="ana")
    return step


def test_a_taken_name_is_refused_with_the_ways_out(make: Make, code: Code) -> None:
    """A routine that was made in the admin, and now stands above its task, would fire twice."""
    make("nightly", every="1h")
    code.says(nightly={"every": "1h"})
    step = synced()
    assert step.act is Act.REFUSE
    for part in ("not declared in code has that name", "another name", "archive", "routines sync --adopt"):
        assert part in step.why
    with pytest.raises(service.NotAllowed, match="routines sync --adopt"):
        declare_routine("nightly", {"task": NOTE, "every": "1h"}, code_scope())
    assert Routine.objects.get().declared_in == "database"


def test_an_adopted_routine_is_the_codes_and_does_what_it_did(make: Make, code: Code) -> None:
    """What differs is a person's edit, also what was a default; what agrees follows the code."""
    routine = make("nightly", every="1h", timeout_ms="10m", expires_ms="1m")
    code.says(nightly={"every": "2h", "max_attempts": 5, "timeout_ms": "10m"})
    assert synced(adopt=True, dry_run=True).act is Act.ADOPT
    assert Routine.objects.get().declared_in == "database"

    assert synced(adopt=True).act is Act.ADOPT
    adopted = Routine.objects.get()
    assert (adopted.pk, adopted.declared_in, adopted.interval_ms) == (routine.pk, code_scope(), 3_600_000)
    assert service.differences(adopted) == {"interval_ms": 7_200_000, "max_attempts": 5, "expires_ms": None}
    change = ScheduleChange.objects.latest("id")
    assert (change.actor, change.reason, change.before) == (
        "ana",
        "adopted by the code that declares it",
        {"declared_in": "database"},
    )
    assert change.after["declared_in"] == code_scope()
    assert synced().act is Act.NOTHING

    code.says(nightly={"every": "3h", "max_attempts": 6, "timeout_ms": "5m"})
    assert synced().act is Act.CHANGE
    adopted.refresh_from_db()
    assert (adopted.interval_ms, adopted.max_attempts, adopted.timeout_ms) == (3_600_000, 3, 300_000)
    adopted = service.give_back(adopted)
    assert (adopted.interval_ms, adopted.max_attempts, adopted.expires_ms) == (10_800_000, 6, None)


def test_one_of_another_task_is_never_adopted(make: Make, code: Code) -> None:
    make("nightly", every="1h")
    code.says(nightly={"every": "1h", "task": OTHER_TASK})
    step = synced(adopt=True)
    assert (step.act, "it is of another task" in step.why) == (Act.REFUSE, True)
    assert Routine.objects.get().declared_in == "database"


def test_beside_an_archived_one_there_is_room(make: Make, code: Code) -> None:
    """It fires no more, and keeps its name: the code's has its scope added. Asked to, code brings it back instead."""
    service.archive_routine(make("nightly", every="1h"))
    service.archive_routine(make("weekly", every="1h"))
    code.says(nightly={"every": "1h"})
    assert synced().act is Act.CREATE
    active = Routine.objects.filter(status=RoutineStatus.ACTIVE)
    assert active.get().name == "nightly (code:code)"
    code.says(weekly={"every": "1h"})
    planned = {step.name: step for step in service.sync_declared(adopt=True, dry_run=True)}
    assert (planned["weekly"].act, planned["weekly"].why) == (Act.ADOPT, "it is archived, and comes back as it was")
    service.sync_declared(adopt=True, archive_now=True)
    assert active.get().name == "weekly"


@pytest.fixture
def app() -> Iterator[Celery]:
    """The project's, whose schedule a test may set."""
    found = app_or_default()
    before = found.conf.beat_schedule
    yield found
    found.conf.beat_schedule = before


def test_an_entry_that_moves_from_the_schedule_to_its_task_is_the_same_routine(
    make: Make, code: Code, app: Celery
) -> None:
    """When it is gone from there, and by itself: what the schedule said becomes what code says, an edit stays."""
    routine = declare_routine("hourly", {"task": NOTE, "every": "1h"}, app_scope(app))
    service.update_routine(routine, max_attempts=7, actor="ada")
    code.says(hourly={"every": "2h", "max_attempts": 2})
    app.conf.beat_schedule = {"hourly": {"task": NOTE, "schedule": 3600}}
    for asked in (False, True):
        step = synced(adopt=asked)
        assert (step.act, "take it out of beat_schedule" in step.why) == (Act.REFUSE, True)

    app.conf.beat_schedule = {}
    assert synced().act is Act.ADOPT
    moved = Routine.objects.get()
    assert (moved.pk, moved.declared_in) == (routine.pk, code_scope())
    assert (moved.interval_ms, moved.max_attempts) == (7_200_000, 7)
    assert synced().act is Act.NOTHING


def test_what_stands_in_both_is_never_two_routines(code: Code, app: Celery, transactional_db: None) -> None:
    """Also where no beat has imported the schedule yet, and where an entry is added to a schedule later."""
    code.says(hourly={"every": "1h"})
    app.conf.beat_schedule = {"hourly": {"task": NOTE, "schedule": 3600}}
    for dry_run in (True, False):
        assert synced(dry_run=dry_run).act is Act.REFUSE
    app.conf.beat_schedule = {}
    assert synced().act is Act.CREATE
    with pytest.raises(service.NotAllowed, match="take it out of beat_schedule"):
        declare_routine("hourly", {"task": NOTE, "every": "1h"}, app_scope(app))
    assert Routine.objects.get().declared_in == code_scope()


def test_a_deployment_that_adopts_may_be_slow_or_fail(make: Make, code: Code) -> None:
    """Beats of the old code, which declare nothing of that name, do not archive it meanwhile."""
    make("nightly", every="1h")
    code.says(nightly={"every": "1h"})
    service.sync_declared(adopt=True, actor="ana")
    now = clock.now()
    assert undeclared([], code_scope(), now + timedelta(hours=23)) == []
    assert len(undeclared([], code_scope(), now + timedelta(hours=25))) == 1


@pytest.mark.parametrize("rest", ["PAUSED", "PARKED"])
def test_a_routine_that_rested_comes_back_resting(make: Make, code: Code, rest: str) -> None:
    """A release that did not declare it for a while is no reason to fire in the middle of an incident."""
    code.says(billing={"every": "1h"})
    synced()
    if rest == "PAUSED":
        service.pause_routine("billing", reason="incident 7", actor="ana")
    else:
        Routine.objects.update(status=rest)
    code.says()
    service.sync_declared(archive_now=True)
    code.says(billing={"every": "1h"})
    assert synced().act is Act.BRING_BACK
    routine = Routine.objects.get()
    expected = "incident 7" if rest == "PAUSED" else "it was PARKED before it was archived"
    assert (routine.status, routine.pause_reason) == ("PAUSED", expected)


@pytest.mark.parametrize("scope", ["another-app", "code:another"])
def test_what_others_declare_is_theirs(make: Make, code: Code, scope: str) -> None:
    """Another app's schedule, or another project's code on the same ledger."""
    declare_routine("hourly", {"task": NOTE, "every": "1h"}, scope)
    code.says(hourly={"every": "2h"})
    step = synced()
    assert step.act is Act.REFUSE
    assert f"declared in the code of {scope.removeprefix('code:')} has that name" in step.why
    assert (Routine.objects.get().declared_in, Routine.objects.get().interval_ms) == (scope, 3_600_000)


def test_of_two_that_adopt_at_once_one_does(make: Make, code: Code) -> None:
    """The second finds behind the lock that it is the code's already."""
    holder = make("nightly", every="1h")
    code.says(nightly={"every": "2h"})
    service.sync_declared(adopt=True, actor="ana")
    changes = ScheduleChange.objects.count()
    adopt.adopt(holder, {"task": NOTE}, "code:another", "ben")
    assert (Routine.objects.get().declared_in, ScheduleChange.objects.count()) == (code_scope(), changes)


def test_a_name_that_is_taken_while_code_looks_is_refused(
    make: Make, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody had it when code looked, and a person has made one before code comes to it."""
    create = declare._create

    def after_a_person(*given: Any) -> Routine:
        make("nightly", every="1h")
        return create(*given)

    monkeypatch.setattr(declare, "_create", after_a_person)
    with pytest.raises(service.NotAllowed, match="routines sync --adopt"):
        declare_routine("nightly", {"task": NOTE, "every": "1h"}, code_scope())
    assert Routine.objects.get().declared_in == "database"


def test_the_scope_is_a_setting(settings: Settings) -> None:
    """Whatever a process has for its settings module, it is one project."""
    assert code_scope() == "code:code"
    settings.ROUTINES = settings.ROUTINES | {"DECLARED_SCOPE": "shop"}
    assert code_scope() == "code:shop"
