"""Who is not heard any more: when a child beats by itself, and when an exclusive body must not go on."""

from __future__ import annotations

import threading
import time
from typing import Any
from uuid import UUID

import pytest
import redis
from django.test import override_settings

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.execution import executor
from routines_app.execution import place as places
from routines_app.execution import watchdog as watchdogs
from routines_app.execution.board import Board
from routines_app.execution.pacemaker import Pacemaker
from routines_app.execution.place import UNHEARD_SECONDS, Place, patience_seconds
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import SILENCE_SECONDS, Watchdog
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.clock import steady_seconds
from tests.integration.execution.children import RARE, heartbeat, say
from tests.integration.execution.test_heart import live
from tests.processes import wait_for


def test_an_exclusive_body_stops_when_neither_database_nor_redis_answer() -> None:
    """And not earlier, and not when one of them does."""
    shared, exclusive = live("shared"), live("exclusive", concurrency_policy="FORBID")
    dog = Watchdog()
    dog._runs = {run.facts.id: run for run in (shared, exclusive)}
    now = time.monotonic()
    for asks in (dog._heart, dog._renewal):
        asks._companion._thread = threading.current_thread()
        asks._heard_at = now
    for second in range(int(SILENCE_SECONDS)):
        dog.look(now + second)
    assert exclusive.stop is None
    for asks in (dog._heart, dog._renewal):
        asks._heard_at = now + 5
        dog.look(now + SILENCE_SECONDS + 1)
        assert exclusive.stop is None
        asks._heard_at = now
    dog.look(now + SILENCE_SECONDS + 1)
    assert (exclusive.stop, shared.stop) == (Stop.LOST, None)


def test_a_body_that_held_the_interpreter_is_not_taken_for_an_outage() -> None:
    """Nobody in the process could listen meanwhile; from then on they have the whole time again."""
    run = live("exclusive", concurrency_policy="FORBID")
    dog = Watchdog()
    dog._runs = {run.facts.id: run}
    now = time.monotonic()
    for asks in (dog._heart, dog._renewal):
        asks._companion._thread = threading.current_thread()
        asks._heard_at = now
    dog.look(now)
    for second in range(int(SILENCE_SECONDS)):
        dog.look(now + 2 * SILENCE_SECONDS + second)
    assert run.stop is None
    dog.look(now + 3 * SILENCE_SECONDS + 1)
    assert run.stop is Stop.LOST


def hears_redis_only(dog: Watchdog, now: float) -> bool:
    return dog.silent_seconds(now) < dog._heart.silent_seconds(now)


@override_settings(ROUTINES={"HEARTBEAT_SECONDS": 0.2})
def test_a_database_that_hangs_costs_no_lease(monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis) -> None:
    """The heart waits for the database for ever; leases are renewed, and Redis' answers keep the body alive."""
    thawed, asked = threading.Event(), threading.Event()

    def hang(*_: object) -> dict[UUID, Any]:
        asked.set()
        thawed.wait(30)
        return {}

    for name in ("beat_heart", "look"):
        monkeypatch.setattr(f"routines_app.execution.heart.{name}", hang)
    run = live(concurrency_policy="FORBID")
    dog = Watchdog()
    dog._runs = {run.facts.id: run}
    dog.look(run.began + 2)
    try:
        assert asked.wait(5)
        redis_client.flushdb()
        wait_for(lambda: leases.holder(run.facts.routine_id), 10, "the lease was not renewed")
        wait_for(lambda: hears_redis_only(dog, time.monotonic()), 10, "Redis' answers are not counted")
        assert run.stop is None
    finally:
        run.leave_body()
        dog.release(run)
        thawed.set()


def test_a_time_out_does_not_wait_for_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    run = live()
    dog = Watchdog()
    dog._runs = {run.id: run}

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(dog._heart, "ensure_beating", fail)
    with pytest.raises(RuntimeError):
        dog.look(run.deadline + 1)
    assert run.stop is Stop.TIMEOUT


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


@pytest.mark.parametrize("looks", [True, False])
def test_where_nobody_beats_outside_a_run_may_be_silent_for_longer(
    board: Board, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """A prefork child is one of those until its parent looks at the board."""
    monkeypatch.setattr(executor, "own_place", lambda: Place(board, 0))
    if looks:
        Pacemaker(board).look(time.monotonic())
    assert executor._allowed_silence() == (None if looks else get_settings().unguarded_orphan_seconds)
