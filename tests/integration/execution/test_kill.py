"""A body that is past its time-out and does not end: who kills its process, and whom nobody may kill."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import pacemaker as pacemakers
from routines_app.execution import watchdog as watchdogs
from routines_app.execution.board import Board
from routines_app.execution.pacemaker import HEAD_START_SECONDS, ChildRun, Pacemaker, kill, process_state
from routines_app.execution.place import Place
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import Watchdog
from routines_app.models import RoutineRun
from tests.integration.execution.children import LONG_AGO, failing_at_first, written
from tests.integration.execution.test_heart import live
from tests.processes import wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def test_a_child_whose_body_is_past_its_time_out_is_killed(board: Board, child: int) -> None:
    """The row says why, whoever else reports the lost process."""
    run = live(max_attempts=1)
    written(board, child, run, deadline=LONG_AGO)
    Pacemaker(board).look(time.monotonic())
    wait_for(lambda: process_state(child)[0] in "ZX", 5, "it lives")
    wait_for(lambda: RoutineRun.objects.get(id=run.id).status == RunStatus.FAILED, 10, "nothing was recorded")
    assert RoutineRun.objects.get(id=run.id).reason == Reason.TIMEOUT


@pytest.mark.parametrize("recorded", [True, False])
def test_a_process_that_is_about_to_end_itself_is_looked_after_until_then(
    board: Board, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    """Its body may take the interpreter again. The lease is not renewed once it was given back."""
    left: list[int] = []
    run = live(concurrency_policy="FORBID", max_attempts=1)
    run.take_place(Place(board, 0))
    run.enter_body()
    run.ask_to_stop(Stop.TIMEOUT, 0.0)
    monkeypatch.setattr(os, "_exit", left.append)
    if recorded:
        Watchdog()._end_process(run)
    else:
        monkeypatch.setattr(watchdogs, "_apart", failing_at_first(None))
        with pytest.raises(RuntimeError):
            Watchdog()._end_process(run)
    assert left == [watchdogs.EXIT_CODE]
    [line] = board.lines()
    assert time.monotonic() - 60 < line.deadline <= time.monotonic() + watchdogs.RECORD_SECONDS
    assert (line.in_body, line.routine_id is None) == (True, recorded)
    assert (leases.holder(run.routine_id) is None) == recorded
    seen = ChildRun(board, line)
    assert seen.is_in_body_after(time.monotonic() + watchdogs.RECORD_SECONDS)
    Pacemaker(board)._renewal.renew([seen])
    assert (leases.holder(run.routine_id) is None) == recorded
    run.end()
    assert board.lines() == []


def test_a_stranger_that_has_a_dead_childs_id_by_then_is_left_alone(
    board: Board, child: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked once more whose the process is, when no other can come in its place."""
    run = live()
    written(board, child, run, deadline=LONG_AGO)
    [seen] = Pacemaker(board).runs()
    sent: list[int] = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda _, number: sent.append(number))
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as if its parent were another
    kill(seen, 0.0)
    monkeypatch.undo()
    assert sent == []


@pytest.mark.parametrize("handles", [True, False])
@pytest.mark.parametrize("where", ["looking at the board", "telling why"])
def test_a_kill_that_goes_wrong_leaves_nobody_stopped_and_the_others_their_end(
    board: Board, child: int, other_child: int, monkeypatch: pytest.MonkeyPatch, where: str, handles: bool
) -> None:
    """The next round tries again."""
    run, other = live("one", max_attempts=1), live("other", max_attempts=1)
    written(board, child, run, deadline=LONG_AGO)
    written(board, other_child, other, deadline=LONG_AGO, number=4)
    if not handles:
        monkeypatch.delattr(os, "pidfd_open")
    with monkeypatch.context() as broken:
        if where == "telling why":
            broken.setattr(pacemakers, "in_background", failing_at_first(pacemakers.in_background))
        else:
            broken.setattr(pacemakers, "_stops", failing_at_first(pacemakers._stops))
        Pacemaker(board).look(time.monotonic())
    wait_for(lambda: process_state(other_child)[0] in "ZX", 5, "the other lives")
    wait_for(lambda: process_state(child)[0] == "S", 5, "it does not go on")
    Pacemaker(board).look(time.monotonic())
    wait_for(lambda: process_state(child)[0] in "ZX", 5, "it lives")
    ended = RoutineRun.objects.filter(reason=Reason.TIMEOUT)
    wait_for(lambda: ended.count() == 2, 10, "not all is recorded")


@pytest.mark.parametrize("what", ["its body is over", "it is at its next run", "it ends itself", "it has time left"])
def test_a_child_that_is_elsewhere_by_then_is_not_killed(
    board: Board, child: int, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It is stopped first, then looked at once more, and goes on."""
    run, other = live("one"), live("other")
    place = written(board, child, run, deadline=LONG_AGO)
    [seen] = Pacemaker(board).runs()
    if what == "its body is over":
        place.set_in_body(run.id, False)
    elif what == "it is at its next run":
        written(board, child, other, deadline=LONG_AGO)
    elif what == "it ends itself":
        place.ends_itself(run.id, by=time.monotonic())
    else:
        written(board, child, run, deadline=time.monotonic() - HEAD_START_SECONDS)
    monkeypatch.setattr(Pacemaker, "runs", lambda self: [seen])
    monkeypatch.setattr(ChildRun, "is_in_body_after", once_true(ChildRun.is_in_body_after))
    Pacemaker(board).look(time.monotonic())
    wait_for(lambda: process_state(child)[0] == "S", 5, "it does not go on")
    assert RoutineRun.objects.get(id=run.id).status == RunStatus.RUNNING


def once_true(really: Any) -> Any:
    """The first look came a moment too early."""
    asked: list[object] = []

    def answer(run: ChildRun, moment: float) -> bool:
        asked.append(run)
        return len(asked) == 1 or bool(really(run, moment))

    return answer
