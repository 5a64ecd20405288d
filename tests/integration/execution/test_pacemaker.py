"""The pacemaker: what a pool's parent does for the runs that its children write on the board."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency import prefork, thread
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from routines_app.coordination import leases
from routines_app.core.words import Reason
from routines_app.execution import board as boards
from routines_app.execution import pacemaker as pacemakers
from routines_app.execution.board import Board
from routines_app.execution.pacemaker import Pacemaker, process_state
from routines_app.execution.place import UNHEARD_SECONDS
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import Watchdog
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.ledger.clock import steady_seconds
from routines_app.protocol.record.outcome import failed
from tests.integration.execution.children import RARE, heartbeat, written
from tests.integration.execution.test_heart import live
from tests.processes import wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def beat(pacemaker: Pacemaker) -> None:
    runs = pacemaker.runs()
    pacemaker._heart._speak(runs, time.monotonic(), set())
    pacemaker._renewal.renew([run for run in runs if run.exclusive])


@pytest.mark.each_database
def test_the_runs_of_living_children_are_stamped_and_their_leases_kept(board: Board, child: int) -> None:
    """Not those of a child that is stopped: it may never go on."""
    run = live(concurrency_policy="FORBID")
    written(board, child, run)
    leases.release(run.routine_id, str(run.id))
    before = heartbeat(run)
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: process_state(child)[0] == "T", 5, "it was not stopped")
    beat(Pacemaker(board))
    assert (heartbeat(run), leases.holder(run.routine_id)) == (before, None)
    os.kill(child, signal.SIGCONT)
    wait_for(lambda: process_state(child)[0] != "T", 5, "it did not go on")
    beat(Pacemaker(board))
    assert heartbeat(run) > before
    assert (leases.holder(run.routine_id) or ("",))[0] == str(run.id)


def test_a_process_that_is_no_child_of_ours_is_nobody(board: Board) -> None:
    """A process id can belong to anybody by now."""
    run = live()
    written(board, os.getppid(), run)
    assert Pacemaker(board).runs() == []
    written(board, 2**22 + 1, run)
    assert Pacemaker(board).runs() == []


def test_a_stop_reaches_the_child_it_is_meant_for(board: Board, child: int) -> None:
    """A child that is at its next run by then does not take it for its own."""
    run, other = live("one"), live("other")
    place = written(board, child, run)
    with transaction.atomic():
        request_stop([run.id], Reason.REPLACED, timezone.now())
    beat(Pacemaker(board))
    assert place.asked_to_stop(run.id) is Stop.REPLACED
    assert place.asked_to_stop(other.id) is None
    dog = Watchdog()
    dog._place = place
    dog._runs = {run.id: run}
    dog.look(time.monotonic())
    assert run.stop is Stop.REPLACED


def test_a_run_that_lost_its_row_keeps_no_lease(board: Board, child: int) -> None:
    """Its body may hold the interpreter and know nothing of it."""
    run = live(concurrency_policy="FORBID")
    written(board, child, run)
    close_run(run.id, failed(Reason.ORPHANED))
    pacemaker = Pacemaker(board)
    beat(pacemaker)
    beat(pacemaker)
    assert leases.holder(run.routine_id) is None


def test_a_lease_that_was_given_back_meanwhile_is_not_brought_back(
    board: Board, child: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child ends its run in the middle of the parent's renewal."""
    run = live(concurrency_policy="FORBID")
    written(board, child, run)
    renewing = leases.renew

    def ends_meanwhile(*arguments: Any) -> bool:
        run.give_lease_back()
        return renewing(*arguments)

    monkeypatch.setattr(leases, "renew", ends_meanwhile)
    beat(Pacemaker(board))
    assert leases.holder(run.routine_id) is None


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_the_lease_of_a_child_that_died_is_not_brought_back(
    board: Board, child: int, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Its parent ended the run and gave the lease back; the line on the board is as the child has left it."""
    run = live(concurrency_policy="FORBID")
    written(board, child, run)
    renewing, seen = leases.renew, Pacemaker(board).runs()

    def dies() -> None:
        os.kill(child, signal.SIGKILL)
        wait_for(lambda: process_state(child)[0] == "Z", 5, "it lives")
        close_run(run.id, failed(Reason.WORKER_LOST))

    def dies_meanwhile(*arguments: Any) -> bool:
        dies()
        return renewing(*arguments)

    if when == "before":
        dies()
    else:
        monkeypatch.setattr(leases, "renew", dies_meanwhile)
    Pacemaker(board)._renewal.renew(seen)
    assert len(board.lines()) == 1
    assert leases.holder(run.routine_id) is None


def test_a_child_that_is_stopped_for_a_moment_keeps_its_lease(board: Board, child: int) -> None:
    """It is not renewed, and not given back either: its body may go on."""
    run = live(concurrency_policy="FORBID")
    written(board, child, run)
    [seen] = Pacemaker(board).runs()
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: process_state(child)[0] == "T", 5, "it was not stopped")
    assert (seen.is_alive, seen.has_ended()) == (False, False)


@override_settings(ROUTINES=RARE)
def test_a_parent_says_whom_it_has_heard(board: Board) -> None:
    """Apart from when it has stamped; Redis it asks more often than hearts beat."""
    pacemaker = Pacemaker(board)
    now = time.monotonic()
    for asks in (pacemaker._heart, pacemaker._renewal):
        asks._companion._thread = threading.current_thread()
        asks._heard_at = now - 3
    pacemaker._heart._stamped_at = now - 30
    pacemaker.look(now)
    ago = [round(steady_seconds() - moment) for moment in board.pulses()]
    assert ago == [30, 3, 3]
    pacemaker._renewal.renew([])
    assert pacemaker._renewal._due_at < now + UNHEARD_SECONDS - 1


@pytest.mark.parametrize(
    ("kind", "state", "paced", "said"),
    [
        pytest.param("prefork", ("S", 7), True, False, id="prefork"),
        pytest.param("prefork", ("S", 0), True, False, id="the first process of a container, which has no parent"),
        pytest.param("prefork", ("X", 0), False, True, id="no /proc"),
        pytest.param("threads", ("S", 7), False, False, id="threads"),
    ],
)
def test_a_prefork_worker_that_sees_its_children_has_a_pacemaker(
    board: Board,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    state: tuple[str, int],
    paced: bool,
    said: bool,
) -> None:
    """One that does not see them says so."""
    started: list[Pacemaker] = []
    pool = prefork.TaskPool if kind == "prefork" else thread.TaskPool
    monkeypatch.setattr(boards, "_board", board)
    monkeypatch.setattr(pacemakers, "process_state", lambda _: state)
    monkeypatch.setattr(Pacemaker, "start", lambda pacemaker: started.append(pacemaker))
    pacemakers.set_pace(SimpleNamespace(pool=object.__new__(pool)))
    assert (bool(started), "nobody beats" in caplog.text) == (paced, said)
