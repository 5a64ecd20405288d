"""A beat that is asked to leave: nothing is raised into its work, and nothing keeps it for long."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from celery import current_app
from django.db import DatabaseError, connection, transaction

from routines_app import service
from routines_app.beat import departure as module
from routines_app.beat import loop
from routines_app.beat.chore import Chore
from routines_app.beat.departure import Departure
from routines_app.beat.loop import BeatLoop
from routines_app.models import RoutineRun
from routines_app.protocol.claim import claim
from routines_app.protocol.claim.claim import ClaimReport, claim_due
from routines_app.protocol.upkeep import reconcile
from tests.integration.protocol.claim.test_claim import TASK, rewind
from tests.processes import stretched

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(60)]

ENDLESS = {
    "postgresql": "SELECT pg_sleep(50)",
    "mysql": "SELECT SLEEP(50) UNION SELECT SLEEP(50)",
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e8) SELECT max(x) FROM n",
}


@pytest.fixture(autouse=True)
def _never_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that would end where it stands is that of the tests."""
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 50.0)


def ask(number: int = signal.SIGTERM) -> None:
    """From outside, or by ourselves: then the handler has run when this returns, whichever other threads there are."""
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(number)
    else:
        os.kill(os.getpid(), number)


@pytest.fixture
def departure() -> Iterator[Departure]:
    """Listens as that of a real beat, and gives the test's process its own handlers back."""
    asked = Departure()
    asked.listen()
    yield asked
    asked.close()


@pytest.fixture
def beat() -> Iterator[BeatLoop]:
    """A loop in the main thread that gets the signals of this process."""
    beat = BeatLoop(current_app)
    beat._guarded_look()  # with it, what is done at the first look only
    beat.listen_for_signals()
    yield beat
    beat.close()


def test_a_signal_in_the_middle_of_a_claim_lets_it_be_published(beat: BeatLoop, monkeypatch: pytest.MonkeyPatch):
    """What is claimed goes out, nothing more is begun, and then the process leaves by itself."""
    for name in ("due", "due as well"):
        service.create_routine(name, task=TASK, every="10s")
        rewind(name, seconds=10)
    steps: list[str] = []

    def asked_while_claiming(*arguments: object) -> ClaimReport:
        with transaction.atomic():
            ask()
            steps.append("claimed")
            return claim_due(*arguments, limit=1)

    monkeypatch.setattr(loop, "claim_due", lambda now, limit: asked_while_claiming(now))
    monkeypatch.setattr(beat, "_send_once", lambda *_: steps.append("looked at the outbox"))
    monkeypatch.setattr(beat, "_chores", [Chore("a chore", lambda: steps.append("a chore"), lambda: 60.0, beat._guard)])

    with pytest.raises(SystemExit) as left:
        tick_until_it_leaves(beat)

    assert (left.value.code, steps) == (0, ["claimed"])
    assert RoutineRun.objects.get().dispatched_at is not None


def tick_until_it_leaves(beat: BeatLoop) -> None:
    while True:
        beat._look_at = 0.0
        beat.tick()


def test_a_beat_that_waits_leaves_at_once(departure: Departure):
    """Waiting is not work: the signal ends it."""
    began = time.monotonic()
    signalling = threading.Timer(0.1, ask)
    signalling.start()

    with pytest.raises(SystemExit), departure.idle():
        time.sleep(30)

    signalling.join()
    assert time.monotonic() - began < 15
    assert departure.is_asked


def test_a_signal_just_before_the_wait_is_not_slept_over(departure: Departure):
    """Between the last look at the flag and the wait."""
    ask()
    with pytest.raises(SystemExit), departure.idle():
        pytest.fail("it waits")


def test_a_statement_that_still_runs_is_cancelled(departure: Departure, monkeypatch: pytest.MonkeyPatch):
    """On every database: whoever waits for a lock would otherwise wait until its holder lets go."""
    monkeypatch.setattr(module, "CANCEL_SECONDS", 0.2)
    connection.ensure_connection()
    signalling = threading.Timer(0.1, ask)
    signalling.start()
    began = time.monotonic()

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ENDLESS[connection.vendor])

    signalling.join()
    assert time.monotonic() - began < stretched(10)
    assert not RoutineRun.objects.exists(), "the connection can be used as before"


def test_an_error_of_a_cancelled_statement_is_no_outage(
    beat: BeatLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The beat leaves; nobody is told that the database is away."""

    def cancelled() -> float:
        ask()
        raise DatabaseError("canceling statement due to user request")

    monkeypatch.setattr(beat, "_look", cancelled)
    with pytest.raises(SystemExit):
        tick_until_it_leaves(beat)

    assert "away" not in caplog.text


@pytest.mark.parametrize("part", ["claiming", "upkeep"])
def test_a_cancelled_part_of_the_look_is_given_up_without_a_word(
    beat: BeatLoop, part: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Its own cancellation is no failure: nothing is tried again in halves, and nobody is told of one."""
    monkeypatch.setattr(module, "CANCEL_SECONDS", 0.2)
    service.create_routine("due", task=TASK, every="10s")
    rewind("due", seconds=10)
    began: list[str] = []

    def endless(*_: object, **__: object) -> int:
        began.append(part)
        ask()
        with connection.cursor() as cursor:
            cursor.execute(ENDLESS[connection.vendor])
        return 0

    if part == "claiming":
        monkeypatch.setattr(claim, "_claim_batch", endless)
        monkeypatch.setattr(claim, "_claim_apart", lambda *_: began.append("apart"))
    else:
        monkeypatch.setattr(reconcile.orphans, "orphan_silent", endless)
        chore = Chore("the upkeep", beat._reconcile, lambda: 60.0, beat._guard)
        monkeypatch.setattr(beat, "_chores", [chore])
    with pytest.raises(SystemExit):
        tick_until_it_leaves(beat)

    assert began == [part]
    assert [record.name for record in caplog.records if record.levelno >= logging.WARNING] == [module.__name__]


def test_a_second_signal_is_not_put_off(departure: Departure):
    """Whoever presses Ctrl-C again does not want to wait."""
    ask()
    with pytest.raises(SystemExit):
        ask()


def test_a_beat_that_cannot_be_freed_ends_all_the_same(departure: Departure, monkeypatch: pytest.MonkeyPatch):
    """Frozen servers answer no cancellation either."""
    codes: list[int] = []
    ended = threading.Event()
    monkeypatch.setattr(module, "CANCEL_SECONDS", 0.05)
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.1)
    monkeypatch.setattr(module.os, "_exit", lambda code: (codes.append(code), ended.set()))
    monkeypatch.setattr(module, "cancel_statement", lambda _: ended.wait(30))
    connection.ensure_connection()

    ask()

    assert ended.wait(20)
    assert codes == [0]


def test_a_beat_that_is_asked_late_is_seen_through_as_well(monkeypatch: pytest.MonkeyPatch):
    """`celery beat` gives every new socket a time-out of half a minute: whoever listens for signals has none."""
    ended = threading.Event()
    monkeypatch.setattr(module, "CANCEL_SECONDS", 0.05)
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.1)
    monkeypatch.setattr(module.os, "_exit", lambda _: ended.set())
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.05)
    asked = Departure()
    try:
        asked.listen()
        time.sleep(0.2)  # longer than that time-out
        ask()
        assert ended.wait(20)
    finally:
        asked.close()
        socket.setdefaulttimeout(before)


def in_a_thread(act: Callable[[], None]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_signals_of_a_worker_with_an_embedded_beat_stay_its_own():
    """`worker -B` without processes runs the beat in a thread, and ends it by not ticking any more."""
    before = signal.getsignal(signal.SIGTERM)
    asked = Departure()

    in_a_thread(asked.listen)
    in_a_thread(asked.close)

    assert signal.getsignal(signal.SIGTERM) is before


def test_handlers_come_back_when_the_beat_has_left():
    """And a signal that is ignored on purpose stays ignored."""
    before = signal.getsignal(signal.SIGTERM)
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asked = Departure()
        asked.listen()
        asked.listen()
        assert signal.getsignal(signal.SIGTERM) != before
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        asked.close()
        asked.close()
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGINT, ignored)
