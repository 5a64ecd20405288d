"""Deleting an archived routine with its history."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import ChangeKind, Routine, RoutineRun, RunLog, ScheduleChange
from routines_app.verbs import delete
from tests.integration.conftest import MONDAY
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def test_deleting_takes_the_history_along_in_batches(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told, children move up, and the deletion itself stays in the history."""
    monkeypatch.setattr(delete, "DELETE_BATCH", 2)
    routine = make("parent", every="1h")
    child = make("child", parent="parent")
    make("grandchild", parent="child")
    runs = [waiting_run(routine, number) for number in range(5)]
    RunLog.objects.create(run=runs[0], at=MONDAY, line="x")
    RoutineRun.objects.filter(pk=runs[1].pk).update(retry_of=runs[0].pk)
    service.archive_routine(routine)
    told: list[int] = []
    assert service.delete_routine(routine, progress=told.append, actor="ann") == 5
    assert told == [2, 4, 5]
    assert (RoutineRun.objects.count(), RunLog.objects.count()) == (0, 0)
    child.refresh_from_db()
    assert (child.parent, child.depth) == (None, 0)
    assert dict(Routine.objects.values_list("name", "depth")) == {"child": 0, "grandchild": 1}
    change = ScheduleChange.objects.get(kind=ChangeKind.DELETED)
    assert (change.routine, change.routine_name, change.actor) == (None, "parent", "ann")


def test_a_routine_with_a_running_run_is_not_deleted(make: Make) -> None:
    """The run would lose its row under its feet."""
    routine = make()
    running_run(routine)
    service.archive_routine(routine)
    with pytest.raises(service.NotAllowed, match="still has runs"):
        service.delete_routine(routine)
    assert RoutineRun.objects.count() == 1


def test_deleting_does_not_look_through_all_runs_for_retries(make: Make) -> None:
    """No index leads from a run to its retries: with a million runs each batch would read all of them."""
    routine = make()
    waiting_run(routine, 1)
    service.archive_routine(routine)
    with CaptureQueriesContext(connection) as captured:
        service.delete_routine(routine)
    assert not [query["sql"] for query in captured if "retry_of_id" in query["sql"].partition("WHERE")[2]]


def test_a_routine_that_comes_back_keeps_its_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code may declare it again between two batches: what is left then is its ledger."""
    monkeypatch.setattr(delete, "DELETE_BATCH", 2)
    routine = make(every="1h")
    for number in range(5):
        waiting_run(routine, number)
    service.archive_routine(routine)

    def wake(deleted: int) -> None:
        Routine.objects.filter(pk=routine.pk).update(status="ACTIVE")

    with pytest.raises(service.NotAllowed, match="only an ARCHIVED routine can be deleted"):
        service.delete_routine(routine, progress=wake)
    assert RoutineRun.objects.count() == 3
