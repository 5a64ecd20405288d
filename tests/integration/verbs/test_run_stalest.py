"""Running what waited longest for a success."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunTrigger
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.verbs import run_stalest as module
from routines_app.verbs.editing import editing
from tests.integration.conftest import MONDAY
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db


def succeeded(make: Make, name: str, hours: float | None, **values: Any) -> Routine:
    routine = make(name, **values)
    if hours is not None:
        at = MONDAY - timedelta(hours=hours)
        RoutineState.objects.filter(pk=routine.pk).update(last_success_at=at)
    return routine


def order() -> list[str]:
    """The routines in the order in which repeated requests take them."""
    names = []
    while (run := service.run_stalest()) is not None:
        names.append(run.routine.name)
    return names


def test_the_first_by_band_and_staleness_runs(make: Make) -> None:
    """What never succeeded before any success, a deeper one before another that is as stale; each once."""
    succeeded(make, "fresh", 1)
    root = succeeded(make, "stale", 9)
    succeeded(make, "below", 9, parent=root)
    succeeded(make, "never", None)
    succeeded(make, "high", 0.1, priority="HIGH")
    succeeded(make, "low", None, priority="LOW")
    assert order() == ["high", "never", "below", "stale", "fresh", "low"]


def test_it_is_a_request_by_hand(make: Make) -> None:
    """With its author and its place."""
    make()
    run = service.run_stalest(requested_by="ann")
    assert run is not None
    assert (run.trigger, run.requested_by, run.requested_at) == (RunTrigger.MANUAL, "ann", MONDAY)


def test_who_is_busy_or_not_active_is_left_alone(make: Make) -> None:
    """None, when that is all of them; nothing is written then."""
    running_run(make("runs"), 1)
    waiting_run(make("waits"), 2)
    service.pause_routine(make("paused"))
    service.archive_routine(make("archived"))
    Routine.objects.filter(pk=make("parked").pk).update(status="PARKED")
    assert service.run_stalest() is None
    assert RoutineRun.objects.count() == 2


def test_of_a_pool_only_its_own_routines(make: Make) -> None:
    """The default pool's are those without a pool as well."""
    pool = service.create_pool("db", max_concurrent=1)
    make("free")
    own = make("own", pool=pool)
    run = service.run_stalest("db")
    assert run is not None
    assert run.routine_id == own.pk
    assert service.run_stalest("db") is None
    service.update_pool(pool, is_default=True)
    run = service.run_stalest("db")
    assert run is not None
    assert (run.routine.name, run.pool_id) == ("free", pool.pk)
    with pytest.raises(service.NotFound):
        service.run_stalest("none")


def test_whoever_loses_many_times_goes_on_with_the_next(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as somebody is idle."""
    monkeypatch.setattr(module, "READ_AT_ONCE", 2)
    routines = [make(f"routine {number}") for number in range(6)]
    lost: list[int] = []

    def raced(routine_id: int) -> Any:
        if len(lost) < 5:
            lost.append(routine_id)
            waiting_run(Routine.objects.get(pk=routine_id), len(lost))
        return editing(routine_id)

    monkeypatch.setattr(module, "editing", raced)
    run = service.run_stalest()
    assert run is not None
    assert {*lost, run.routine_id} == {routine.pk for routine in routines}
    assert service.run_stalest() is None
