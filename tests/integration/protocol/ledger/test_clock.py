"""The ledger's time: what stepped clocks, suspended machines and databases that jump or are away do to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from routines_app import service
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.clock import AGAIN_SECONDS, REFRESH_SECONDS, Clock
from tests.acceptance.fault import NOTE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3600.0
NEAR = timedelta(milliseconds=1)


class World:
    """A machine and a database, each with clocks that are set at will."""

    def __init__(self, *, ahead: float = 0.0) -> None:
        self.steady, self.wall = 1000.0, (NOON.timestamp() + ahead)
        self.database = NOON
        self.answer_seconds = 0.0005
        self.asked = 0
        self.away = False
        self.clock = Clock(self.ask, lambda: self.steady, lambda: self.wall)

    def ask(self) -> datetime | None:
        self.asked += 1
        if self.away:
            raise DatabaseError("away")
        self.let_pass(self.answer_seconds / 2)
        said = self.database
        self.let_pass(self.answer_seconds / 2)
        return said

    def let_pass(self, seconds: float, *, steady: bool = True) -> None:
        """Time goes on for everybody; for the steady clock too, unless it stops with a suspended machine."""
        self.steady += seconds if steady else 0.0
        self.wall += seconds
        self.database += timedelta(seconds=seconds)

    @property
    def off(self) -> timedelta:
        """By how much the ledger's time is not the database's."""
        return self.clock.now() - self.database


@pytest.fixture
def world() -> World:
    made = World()
    assert abs(made.off) < NEAR
    return made


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_stepped_wall_clock_reaches_nothing(world: World, caplog: pytest.LogCaptureFixture, step: float):
    """It is told once that the machine's clock is wrong; the database is asked once more, and its answer counts."""
    world.let_pass(5)
    world.wall += step
    asked = world.asked
    for _ in range(10):
        assert abs(world.off) < NEAR
        world.let_pass(0.1)
    assert world.asked == asked + 1
    world.let_pass(10 * REFRESH_SECONDS)
    assert abs(world.off) < NEAR
    assert [record.getMessage().partition(" is ")[0] for record in caplog.records] == ["this machine's clock"]


@given(steps=st.lists(st.tuples(st.floats(0, 120), st.floats(-1e6, 1e6)), max_size=20))
def test_whatever_the_wall_clock_does_the_time_is_the_databases(steps: list[tuple[float, float]]):
    """At any moment, before the first reading too: none is needed for that."""
    world = World(ahead=HOUR)
    told = world.clock.now()
    for seconds, step in steps:
        world.let_pass(seconds)
        world.wall += step
        assert abs(world.off) < NEAR
        assert world.clock.now() >= told
        told = world.clock.now()


def test_a_wall_clock_that_is_stepped_all_the_time_does_not_make_each_call_ask(world: World):
    """Once in AGAIN_SECONDS is enough."""
    asked, began = world.asked, world.steady
    for number in range(1000):
        world.wall += HOUR if number % 2 else -HOUR
        world.let_pass(0.01)
        world.clock.now()
    assert 0 < world.asked - asked <= (world.steady - began) / AGAIN_SECONDS


@pytest.mark.parametrize("counted", [True, False])
def test_a_suspended_machine_wakes_up_in_the_present(world: World, caplog: pytest.LogCaptureFixture, counted: bool):
    """Also where the steady clock stops with it: the wall clock has left it behind, and that is a sign to ask."""
    world.let_pass(5)
    world.let_pass(8 * HOUR, steady=counted)
    assert abs(world.off) < NEAR
    jumps = [record for record in caplog.records if "has jumped by 8:00:00" in record.getMessage()]
    assert len(jumps) == (0 if counted else 1)


@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_database_whose_clock_was_set_is_believed_at_the_next_reading(
    world: World, caplog: pytest.LogCaptureFixture, step: timedelta
):
    """It is asked twice, and the jump is told once."""
    world.let_pass(5)
    world.database += step
    assert abs(world.off + step) < NEAR
    world.let_pass(REFRESH_SECONDS)
    asked = world.asked
    assert abs(world.off) < NEAR
    assert world.asked == asked + 2
    world.let_pass(3 * REFRESH_SECONDS)
    assert abs(world.off) < NEAR
    assert len([record for record in caplog.records if "the database's clock has jumped" in record.getMessage()]) == 1


def test_one_wrong_answer_is_not_believed(world: World, caplog: pytest.LogCaptureFixture):
    """The second look does not confirm it."""
    world.let_pass(2 * REFRESH_SECONDS)
    answers: Iterator[float] = iter([HOUR, 0.0])
    ask = world.ask
    world.clock._ask = lambda: (ask() or NOON) + timedelta(seconds=next(answers))
    assert abs(world.off) < NEAR
    assert next(answers, None) is None
    assert caplog.records == []


def test_a_database_that_is_away_at_first_is_asked_until_it_answers():
    """Until then the wall clock stands in; a wrong one is forgotten with the first answer."""
    world = World(ahead=HOUR)
    world.away = True
    assert abs(world.off - timedelta(seconds=HOUR)) < NEAR
    world.away = False
    assert abs(world.off) < NEAR


def test_while_the_database_is_away_its_time_goes_on(world: World):
    """For as long as that lasts, whatever the wall clock does; it is not asked each time."""
    world.away = True
    asked = world.asked
    for _ in range(100):
        world.let_pass(10)
        world.wall += 7
        assert abs(world.off) < NEAR
    assert world.asked - asked <= 100 * 10 / AGAIN_SECONDS
    assert world.asked > asked


def test_a_first_answer_that_took_long_is_asked_for_again():
    """Most of it was the way to the database: the time in it may be from before or after that way."""
    world = World(ahead=HOUR)

    def slow_then_fast() -> datetime | None:
        said = world.ask()
        world.let_pass(4 if world.asked == 1 else 0)
        return said

    world.clock._ask = slow_then_fast
    assert abs(world.off) < NEAR


def test_on_one_machine_both_clocks_are_one(world: World):
    """What differs by less than the way to the database is no difference: not even a microsecond is made of it."""
    assert world.clock.now() == datetime.fromtimestamp(world.wall, UTC)


def test_the_wall_clock_is_followed_where_it_is_the_databases(caplog: pytest.LogCaptureFixture):
    """SQLite: all processes of the machine share it, and must agree."""
    world = World()
    world.clock._ask = lambda: datetime.fromtimestamp(world.wall, UTC)
    world.clock.now()
    world.wall += HOUR
    world.let_pass(AGAIN_SECONDS + 0.1)
    assert abs(world.clock.now().timestamp() - world.wall) < 0.001
    assert len(caplog.records) == 1


def test_a_thread_does_not_wait_while_another_asks(world: World):
    """A database that is slow to answer holds up only the one who asks it."""
    asking, answered = threading.Event(), threading.Event()
    ask = world.ask

    def slow() -> datetime | None:
        asking.set()
        answered.wait(10)
        return ask()

    world.clock._ask = slow
    world.let_pass(2 * REFRESH_SECONDS)
    thread = threading.Thread(target=world.clock.now)
    thread.start()
    assert asking.wait(10)
    world.let_pass(2 * REFRESH_SECONDS)  # it is time for another look, and there is still no answer to the first
    assert abs(world.clock.now() - world.database) < NEAR
    assert thread.is_alive()
    answered.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_goes_on_with_its_parents_reading(world: World):
    """It need not ask, and it need not wait for a lock that nobody will open."""
    with world.clock._lock:
        child = os.fork()
        if child == 0:
            world.clock.forget_lock()
            world.away = True
            world.let_pass(2 * REFRESH_SECONDS)
            os._exit(0 if abs(world.off) < NEAR else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.django_db(transaction=True)
def test_the_database_is_asked_for_the_time():
    """On every one of them, with a time zone."""
    assert abs((clock.ask_database() or NOON) - datetime.now(UTC)) < timedelta(seconds=10)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_asked_in_a_broken_transaction():
    """What was known before is still the best there is."""
    measured = Clock()
    before = measured.now()
    measured._looked_at -= 2 * REFRESH_SECONDS
    with transaction.atomic():
        connection.set_rollback(True)
        assert timedelta() <= measured.now() - before < timedelta(minutes=1)
        assert abs(Clock().now() - before) < timedelta(minutes=1)


@pytest.mark.django_db
def test_rows_give_themselves_the_ledgers_time(monkeypatch: pytest.MonkeyPatch):
    """The ids of runs, and when a routine was last edited."""
    routine = service.create_routine("report", task=NOTE)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "_clock", Clock(lambda: NOON))
        run = RoutineRun()
        service.update_routine(routine, description="new")
        service.pause_routine(routine)
    assert abs(service.run_created_at(run.pk) - NOON) < timedelta(minutes=1)
    assert abs(Routine.objects.get().updated_at - NOON) < timedelta(minutes=1)
