"""What code declares."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.upkeep import archived
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.verbs.rows import waiting_run

NIGHTLY = {"task": NOTE, "cron": "0 3 * * *"}


Make = Callable[..., Routine]


def test_what_code_declares_is_changed_in_code_only(make: Make) -> None:
    """Schedule and task are read-only here; policies, pausing and running are not."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    for change in ({"cron": "0 4 * * *"}, {"task": "tests.acceptance.tasks.sleepy"}, {"args": [1]}, {"name": "x"}):
        with pytest.raises(service.NotAllowed, match="declared in the code of shop"):
            service.update_routine(routine, **change)
    service.update_routine(routine, timeout_ms="10m")
    service.pause_routine(routine)
    service.run_now(routine)
    service.resume_routine(routine)


def test_a_changed_declaration_changes_the_routine_and_keeps_what_people_set(make: Make) -> None:
    """The code's schedule wins; a policy that a person chose stays."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, max_attempts=7)
    declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *"}, "shop")
    stored = Routine.objects.get()
    assert (stored.cron, stored.max_attempts, stored.declared_in) == ("0 4 * * *", 7, "shop")


def test_a_declaration_does_not_take_over_somebody_elses_routine(make: Make) -> None:
    """A name that exists is not the code's to change: the declared one gets its app's name added."""
    make("nightly", every="1h")
    assert declare_routine("nightly", NIGHTLY, "shop").name == "nightly (shop)"
    assert Routine.objects.get(name="nightly").interval_ms == 3_600_000


def test_a_declaration_brings_an_archived_routine_back(make: Make) -> None:
    """A rolled-back deploy that declares it again gets it again, planned from now."""
    service.archive_routine(declare_routine("nightly", NIGHTLY, "shop"))
    declare_routine("nightly", NIGHTLY, "shop")
    assert Routine.objects.get().status == RoutineStatus.ACTIVE
    assert RoutineState.objects.get().next_run_at == MONDAY.replace(day=3, hour=3, minute=0, second=0)


def test_what_waited_at_its_archive_does_not_come_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many waiting runs the beats cancel the rest: until then it cannot be declared again."""
    monkeypatch.setattr(archived, "CANCELLED_AT_ONCE", 2)
    routine = declare_routine("nightly", NIGHTLY, "shop")
    for number in range(6):
        waiting_run(routine, number)
    service.archive_routine(routine)
    with pytest.raises(service.NotAllowed, match="are still being cancelled"):
        declare_routine("nightly", NIGHTLY, "shop")
    assert archived.cancel_archived(MONDAY) == 2
    declare_routine("nightly", NIGHTLY, "shop")
    assert Routine.objects.get().status == RoutineStatus.ACTIVE
    assert set(RoutineRun.objects.values_list("status", "reason")) == {("CANCELLED", "archived")}
