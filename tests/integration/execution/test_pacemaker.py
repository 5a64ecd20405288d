"""The pacemaker: what a pool's parent does for the runs that its children write on the board."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency import prefork, thread
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import board as boards
from routines_app.execution import executor
from routines_app.execution import pacemaker as pacemakers
from routines_app.execution import place as places
from routines_app.execution import watchdog as watchdogs
from routines_app.execution.board import Board, Pulses
from routines_app.execution.live import LiveRun
from routines_app.execution.pacemaker import HEAD_START_SECONDS, ChildRun, Pacemaker, kill, process_state
from routines_app.execution.place import UNHEARD_SECONDS, Place, patience_seconds
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import Watchdog
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.ledger.clock import steady_seconds
from routines_app.protocol.record.outcome import failed
from tests.integration.execution.test_heart import live
from tests.processes import wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

LONG_AGO = -100.0


@pytest.fixture
def board() -> Board:
    return Board()


@contextmanager
def process() -> Iterator[int]:
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.fixture
def child() -> Iterator[int]:
    """A process that does nothing but live."""
    with process() as pid:
        yield pid


@pytest.fixture
def other_child() -> Iterator[int]:
    with process() as pid:
        yield pid


def written(board: Board, pid: int, run: LiveRun, *, deadline: float = float("inf"), number: int = 3) -> Place:
    """As a child with this process id would write it."""
    place = Place(board, number)
    place._pid = pid
    place.__class__ = Foreign
    run.deadline = deadline
    run.began = time.monotonic()  # too short for threads of the pacemaker's own, which would outlive the test
    run.take_place(place)
    place.set_in_body(run.id, True)
    return place


class Foreign(Place):
    """A place that this test may write on for its child."""

    _ours = True


def say(board: Board, *, ago: float = 0.0, **others: float) -> None:
    """As a parent would: it did everything so long ago, but the others."""
    present = steady_seconds()
    said = {pulse: present - others.get(pulse, ago) for pulse in Pulses._fields}
    board.say_pulses(Pulses(**said))


def heartbeat(run: LiveRun) -> Any:
    return RoutineRun.objects.get(id=run.id).heartbeat_at


def beat(pacemaker: Pacemaker) -> None:
    runs = pacemaker.runs()
    pacemaker._heart._speak(runs, time.monotonic(), set())
    pacemaker._renewal.renew([run for run in runs if run.exclusive])


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


def failing_at_first(really: Any) -> Any:
    calls: list[object] = []

    def fail(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise RuntimeError("can't start new thread")
        return really(*arguments)

    return fail


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


def test_a_child_beats_by_itself_only_when_its_parent_is_silent(board: Board) -> None:
    """No thread and no connection of its own before that, unless its task has something to say."""
    run = live(concurrency_policy="FORBID")
    dog = Watchdog()
    dog._place = place = Place(board, 0)
    run.take_place(place)
    dog._runs = {run.id: run}
    say(board)
    dog.look(run.began + 2)
    assert (dog._heart.runs, dog._renewal.runs) == (False, False)
    run.set_progress({"done": 1})
    dog.look(run.began + 2)
    assert (dog._heart.runs, dog._renewal.runs) == (True, False)
    wait_for(lambda: RoutineRun.objects.get(id=run.id).progress, 10, "its progress was not written")
    before = heartbeat(run)
    say(board, ago=patience_seconds() + 1)
    dog.look(run.began + 2)
    assert dog._renewal.runs
    wait_for(lambda: heartbeat(run) > before, 10, "it does not beat")
    assert run.stop is None
    dog.release(run)


@pytest.mark.parametrize("spoke", [None, 3600.0], ids=["never", "an hour ago"])
def test_a_run_whose_parent_was_silent_before_it_began_is_not_cut_off(board: Board, spoke: float | None) -> None:
    """Its start was an answer. A parent that cannot see its children, or is dead, has said nothing since."""
    run = live(concurrency_policy="FORBID")
    dog = Watchdog()
    dog._place = place = Place(board, 0)
    run.take_place(place)
    if spoke is not None:
        say(board, ago=spoke)
    for second in range(-60, 2):  # the process has been awake for long
        dog.look(run.began + second)
    dog._runs = {run.id: run}
    dog.look(run.began + 2)
    assert run.stop is None
    wait_for(lambda: dog.silent_seconds(time.monotonic()) < patience_seconds(), 10, "nobody was heard")
    dog.release(run)


def test_a_suspended_machine_is_not_taken_for_an_outage(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child looks first after that: its parent comes to it in a moment."""
    run = live(concurrency_policy="FORBID")
    run.began -= 100
    dog = Watchdog()
    dog._place = place = Place(board, 0)
    dog._runs = {run.id: run}
    run.take_place(place)
    for asks in (dog._heart, dog._renewal):
        asks._companion._thread = threading.current_thread()
    now = time.monotonic()
    for second in range(60):
        say(board)
        dog.look(now - 60 + second)
    present = steady_seconds()
    for module in (places, watchdogs):
        monkeypatch.setattr(module, "steady_seconds", lambda: present + 3600)
    dog.look(now)
    assert run.stop is None
    for second in range(30):
        dog.look(now + second)
    assert run.stop is Stop.LOST


RARE = {"HEARTBEAT_SECONDS": 40.0, "ORPHAN_SECONDS": 100.0, "LEASE_SECONDS": 100.0}


@override_settings(ROUTINES=RARE)
def test_hearts_that_beat_rarely_are_not_taken_for_an_outage(board: Board) -> None:
    """That the database answers is known from more than heartbeats."""
    run = live(concurrency_policy="FORBID")
    run.began -= 100
    dog = Watchdog()
    dog._place = place = Place(board, 0)
    dog._runs = {run.id: run}
    run.take_place(place)
    dog._renewal._companion._thread = threading.current_thread()
    now = time.monotonic()
    for second in range(60):  # Redis is away
        say(board, stamped=39.0, heard=2.0, renewed=60.0)
        dog.look(now + second)
    assert (run.stop, dog._heart.runs) == (None, False)


@override_settings(ROUTINES=RARE)
def test_a_child_asks_by_itself_before_it_says_that_nobody_answers(board: Board) -> None:
    """Its parent may be frozen; and beat so rarely that nothing is owed to the run yet."""
    run = live(concurrency_policy="FORBID")
    dog = Watchdog()
    dog._place = place = Place(board, 0)
    run.take_place(place)
    dog._runs = {run.id: run}
    say(board, ago=2 * UNHEARD_SECONDS)
    dog.look(run.began + 2)
    assert (dog._heart.runs, dog._renewal.runs) == (True, True)
    for ask in (dog._heart, dog._renewal):
        wait_for(lambda ask=ask: ask.silent_seconds(time.monotonic()) < UNHEARD_SECONDS, 10, "it does not ask")
    dog.release(run)


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


@pytest.mark.parametrize("looks", [True, False])
def test_where_nobody_beats_outside_a_run_may_be_silent_for_longer(
    board: Board, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """A prefork child is one of those until its parent looks at the board."""
    monkeypatch.setattr(executor, "own_place", lambda: Place(board, 0))
    if looks:
        Pacemaker(board).look(time.monotonic())
    assert executor._allowed_silence() == (None if looks else get_settings().unguarded_orphan_seconds)


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
