"""Archiving and deleting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, RunStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange
from routines_app.verbs import delete
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.test_pause import waiting_run
from tests.integration.verbs.test_run_now import running_run

Make = Callable[..., Routine]


def test_archiving_cancels_what_waits_and_lets_what_runs_finish(make: Make) -> None:
    """Nothing is planned any more."""
    routine = make(every="1h")
    waiting, running = waiting_run(routine, 1), running_run(routine, 2)
    service.archive_routine(routine, actor="ann", reason="obsolete")
    waiting.refresh_from_db()
    running.refresh_from_db()
    assert (waiting.status, waiting.reason) == (RunStatus.CANCELLED, Reason.ARCHIVED)
    assert (running.status, running.stop_requested_at) == (RunStatus.RUNNING, None)
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_run_at, state.next_source) == (None, None, Source.ARCHIVED)
    assert routine.status == RoutineStatus.ARCHIVED


def test_archiving_accounts_for_slots_that_were_due(make: Make, time: Time) -> None:
    """The ledger balances up to the end."""
    routine = make(every="1h")
    time.pass_by(hours=2)
    service.archive_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.ARCHIVED, 2)


def test_archiving_a_paused_routine_ends_the_pause_too(make: Make, time: Time) -> None:
    """Its slots are skipped as paused, and no end of the pause is left behind."""
    routine = make(every="1h")
    service.pause_routine(routine, until=MONDAY + timedelta(days=1))
    time.pass_by(hours=3)
    service.archive_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.reason, run.occurrences, routine.paused_until) == (Reason.PAUSED, 3, None)


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
    with pytest.raises(service.NotAllowed, match="still has a run"):
        service.delete_routine(routine)
    assert RoutineRun.objects.count() == 1
