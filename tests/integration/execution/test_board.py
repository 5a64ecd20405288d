"""The board: what a pool's parent reads of its children."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from celery import signals

from routines_app.execution import board as boards
from routines_app.execution import place as places
from routines_app.execution.board import PLACES, Board, Pulses
from routines_app.execution.place import Place
from tests.integration.execution.test_heart import live

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.mark.parametrize("whose", ["the pool's", "a body's"])
def test_a_new_child_wipes_its_place_before_its_first_run(
    board: Board, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    """What the last one has left there would be taken for its own. A process that a body has forked has no place."""
    parent = os.getppid() if whose == "the pool's" else os.getpid()
    Place(board, 5).write(uuid4(), None, None, 0.0, 0.0)
    monkeypatch.setattr(boards, "_board", board)
    monkeypatch.setattr(places, "_place", None)
    monkeypatch.setattr(places, "current_process", lambda: SimpleNamespace(index=5, _parent_pid=parent))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    places.take_over_place()
    assert len(board.lines()) == (0 if whose == "the pool's" else 1)
    assert places.take_over_place in list(signals.worker_process_init._live_receivers(None))


def test_what_a_forked_process_does_is_not_written_on_the_board(board: Board) -> None:
    """The place is its parent's."""
    run = live()
    place = Place(board, 0)
    run.take_place(place)
    pid = os.fork()
    if pid == 0:
        run.leave_body()
        run.end()
        os._exit(0)
    os.waitpid(pid, 0)
    line = board.line(0)
    assert line is not None
    assert line.run_id == run.id
    place.wipe(run.id)
    assert board.line(0) is None


def test_a_place_forgets_what_its_process_ids_last_owner_wrote(board: Board) -> None:
    Place(board, 5).write(uuid4(), None, None, 0.0, 0.0)
    assert [line.place for line in board.lines()] == [5]
    Place(board, 6)
    assert board.lines() == []


@pytest.mark.parametrize(
    "what", ["ends", "enters its body", "leaves its body", "ends its process", "gives its lease back"]
)
def test_a_late_word_about_the_last_run_does_not_change_the_line_of_the_next(board: Board, what: str) -> None:
    """A thread of the last run may come to it when the next one has begun."""
    last, run = live("last"), live("next", concurrency_policy="FORBID")
    place = Place(board, 0)
    last.take_place(place)
    run.take_place(place)
    if what != "enters its body":
        place.set_in_body(run.id, True)
    before = board.line(0)
    if what == "ends":
        last.end()
    elif what == "gives its lease back":
        last.give_lease_back()
    elif what == "ends its process":
        place.ends_itself(last.id, by=1.0)
    else:
        place.set_in_body(last.id, what == "enters its body")
    assert board.line(0) == before
    run.end()
    assert board.line(0) is None


@pytest.mark.parametrize(("routine_id", "fence"), [(None, None), (7, 0), (2**40, 2**41)])
def test_a_line_says_what_was_written(board: Board, routine_id: int | None, fence: int | None) -> None:
    run_id: UUID = uuid4()
    Place(board, PLACES - 1).write(run_id, routine_id, fence, 1.5, 2.5)
    [line] = board.lines()
    assert (line.run_id, line.routine_id, line.fence, line.began, line.deadline, line.in_body) == (
        run_id,
        routine_id,
        fence,
        1.5,
        2.5,
        False,
    )


CHANGES = 1_000  # that a reader has seen: as often it was in the middle of another's writing
MOST_READS = 50_000_000
ONE, OTHER = 1.5, -2.25e300


@contextmanager
def writer(board: Board) -> Iterator[None]:
    """Another process, which writes one moment and then the other everywhere, and so on."""
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        while os.getppid() == parent:
            for moment in (ONE, OTHER) * 1000:
                board.say_pulses(Pulses(moment, moment, moment))
                board.set_deadline(0, moment)
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_nothing_is_read_that_was_not_written(board: Board) -> None:
    """Not for a moment: a pulse of 0 says that nobody was heard for ever, and a deadline of 0 that it is long past."""
    Place(board, 0).write(uuid4(), None, None, ONE, ONE)
    board.say_pulses(Pulses(ONE, ONE, ONE))
    changes, last = 0, ONE
    with writer(board):
        for _ in range(MOST_READS):
            line = board.line(0)
            seen = [*board.pulses(), *([line.deadline] if line else [])]
            assert {ONE, OTHER}.issuperset(seen)
            changes, last = changes + (seen[0] != last), seen[0]
            if changes == CHANGES:
                break
    assert changes == CHANGES
