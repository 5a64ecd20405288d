"""The beat's looks: how far apart they are, and what each of them gets done."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from celery import current_app
from django.db import OperationalError, connection

from routines_app import service
from routines_app.beat import loop
from routines_app.beat.chore import Chore
from routines_app.beat.loop import BUSY_SECONDS, MIN_SLEEP_SECONDS, BeatLoop
from routines_app.coordination.broker import broker
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.claim.claim import ClaimReport, claim_due
from routines_app.protocol.ledger import clock
from tests.integration.holding import needs_row_locks, stranger
from tests.integration.protocol.claim.test_claim import TASK, rewind
from tests.processes import stretched

WAKE_UP_SECONDS = 0.001


class Clock:
    """Stands in for `time`: it goes on only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> BeatLoop:
    """A beat that is woken again and again, and whose looks take no time and find nothing to do for a minute."""
    beat = BeatLoop(current_app)
    ticking = Clock()
    monkeypatch.setattr(loop, "time", ticking)

    def wake(seconds: float) -> list[str]:
        ticking.now += min(WAKE_UP_SECONDS, seconds)
        return ["1"]

    monkeypatch.setattr(beat, "_listener", SimpleNamespace(wait=wake))
    return beat


def looks_of(beat: BeatLoop, monkeypatch: pytest.MonkeyPatch, ticks: int) -> list[float]:
    looks: list[float] = []

    def look() -> float:
        looks.append(loop.time.monotonic())
        return 60.0

    monkeypatch.setattr(beat, "_guarded_look", look)
    for _ in range(ticks):
        beat.tick()
    return looks


def test_a_storm_of_wake_ups_is_no_storm_of_looks(beat: BeatLoop, monkeypatch: pytest.MonkeyPatch):
    """Each wake-up is answered, but never two of them closer together than the shortest sleep."""
    looks = looks_of(beat, monkeypatch, ticks=50)

    assert len(looks) == 50
    gaps = [later - earlier for earlier, later in pairwise(looks)]
    assert min(gaps) >= MIN_SLEEP_SECONDS - 1e-6
    assert max(gaps) <= MIN_SLEEP_SECONDS + WAKE_UP_SECONDS


def test_a_wake_up_in_a_quiet_time_is_answered_at_once(beat: BeatLoop, monkeypatch: pytest.MonkeyPatch):
    """The spacing is kept from the last look, not from the wake-up."""
    looks_of(beat, monkeypatch, ticks=1)
    loop.time.sleep(1.0)
    woken_at = loop.time.monotonic()

    assert looks_of(beat, monkeypatch, ticks=1) == [pytest.approx(woken_at + WAKE_UP_SECONDS)]


def waiting(name: str, now: datetime) -> RoutineRun:
    """A run that has been in the outbox for a while."""
    return RoutineRun.objects.create(
        routine=service.create_routine(name, task=TASK),
        trigger="manual",
        task=TASK,
        scheduled_for=now,
        eligible_at=now,
        publish_after=now - timedelta(seconds=1),
        idempotency_key=f"waiting:{name}",
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_url")
def test_claims_that_take_all_the_time_do_not_keep_waiting_runs_back(monkeypatch: pytest.MonkeyPatch, settings: Any):
    """With more due than a look can claim, each look still sends a batch of what waits, and then lets signals in."""
    settings.ROUTINES = settings.ROUTINES | {"CLAIM_BATCH": 1}
    beat = BeatLoop(current_app)
    beat.tick()  # with it, what is done at the first look only
    spent = 0.0

    def long_claim(now: datetime, limit: int) -> ClaimReport:
        nonlocal spent
        spent += BUSY_SECONDS
        return claim_due(now, limit)

    monkeypatch.setattr(loop, "claim_due", long_claim)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + spent, sleep=time.sleep))
    for name in ("due", "due as well"):
        service.create_routine(name, task=TASK, every="10s")
        rewind(name, seconds=10)
    for name in ("waits", "waits as well"):
        waiting(name, clock.now())

    beat._guarded_look()
    beat.close()

    sent = RoutineRun.objects.filter(dispatched_at__isnull=False)
    assert sent.filter(routine__name__startswith="due").count() == 1, "the claim did not take all the time"
    assert sent.filter(trigger="manual").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_slot_that_came_during_a_look_is_not_taken_for_a_locked_one() -> None:
    """Only what was due when the look began and was not got is somebody else's; the rest is claimed at once."""
    service.create_routine("tick", task=TASK, every="10s")
    due = rewind("tick", seconds=11).next_run_at
    beat = rested_beat()

    assert beat._sleep_seconds(worked=False, looked_at=due - timedelta(milliseconds=1)) == MIN_SLEEP_SECONDS
    assert beat._sleep_seconds(worked=False, looked_at=due + timedelta(milliseconds=1)) == loop.LOCKED_SECONDS[0]


@pytest.mark.django_db(transaction=True)
def test_a_beat_is_connected_to_its_broker_before_the_first_slot() -> None:
    """The first look does it, with nothing to send."""
    known = broker()
    known.close()
    beat = BeatLoop(current_app)
    beat._guarded_look()
    assert known._producer is not None
    beat.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("is_more", "longest"), [(True, loop.MORE_SECONDS), (False, float("inf"))])
def test_an_import_that_is_not_through_goes_on_after_the_next_look(
    monkeypatch: pytest.MonkeyPatch, is_more: bool, longest: float
) -> None:
    """It does a few routines at a time, and does not wait for its usual turn with the rest."""
    beat = BeatLoop(current_app)
    monkeypatch.setattr(beat._declarations, "sync", lambda now: is_more)
    beat._declaring.do_when_due()
    assert beat._declaring.seconds_left <= longest
    assert is_more or beat._declaring.seconds_left > 1
    beat.close()


def refused(number: int = 1644) -> OperationalError:
    """An error that only its statement has; 2006 is an outage."""
    error = OperationalError("refused")
    error.__cause__ = Exception(number, "as the server says it")
    return error


@pytest.mark.django_db(transaction=True)
def test_an_error_that_is_no_outage_harms_only_the_part_that_met_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Claiming, a chore: the rest of the look is done, the silence that was heard counts, and it is said once."""
    beat, done = BeatLoop(current_app), []
    service.create_routine("due", task=TASK, every="10s")
    rewind("due", seconds=10)

    def fail(*_: Any) -> Any:
        raise refused()

    monkeypatch.setattr(loop, "claim_due", fail)
    monkeypatch.setattr(beat, "_send_waiting", lambda began: done.append("sent") or False)
    monkeypatch.setattr(beat._observer, "reset", lambda: done.append("reset"))
    beat._chores = [
        Chore("this chore", fail, lambda: 0.0, beat._guard),
        Chore("another", lambda: done.append("chore"), lambda: 0.0, beat._guard),
    ]
    for _ in range(3):
        assert beat._guarded_look() <= 1.0, "it was taken for an outage"
    beat.close()
    assert done == ["sent", "chore"] * 3
    assert len([line for line in caplog.messages if "this chore failed" in line]) == 1
    assert len([line for line in caplog.messages if "claiming failed" in line]) == 1
    assert "is away" not in caplog.text


def test_an_outage_ends_the_look_and_the_count_of_silence(beat: BeatLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats could not be written, so what was seen proves nothing."""
    done = []

    def look() -> float:
        return beat._guard.do("claiming", fail, otherwise=0.0)

    def fail() -> float:
        raise refused(2006)

    monkeypatch.setattr(beat, "_look", look)
    monkeypatch.setattr(beat._observer, "reset", lambda: done.append("reset"))
    assert beat._guarded_look() > 0
    assert done == ["reset"]


LOCK_TABLE = {
    "postgresql": "LOCK TABLE routines_{} IN ACCESS EXCLUSIVE MODE",
    "mysql": "LOCK TABLES routines_{} WRITE",
}


@needs_row_locks
@pytest.mark.parametrize(("table", "part"), [("routinestate", "claiming"), ("routinerun", "sending")])
@pytest.mark.django_db(transaction=True)
def test_a_table_that_somebody_has_locked_holds_no_look_up(
    table: str, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Plain reads have limits, too. It is said once, and nobody is told that the database is away."""
    beat = BeatLoop(current_app)
    beat._guarded_look()  # with it, what is done at the first look only
    beat._chores, beat._due_at = [Chore("nothing", lambda: None, lambda: 60.0, beat._guard)], None
    with stranger() as other:
        with other.cursor() as cursor:
            cursor.execute(LOCK_TABLE[connection.vendor].format(table))
        let_go = threading.Timer(20, other.connection.close)  # or whoever has no limits would wait for ever
        let_go.start()
        began = time.monotonic()
        assert [beat._guarded_look() for _ in range(2)] == [1.0, 1.0]
        took = time.monotonic() - began
        let_go.cancel()
    beat.close()
    assert took < stretched(8)  # MariaDB counts in whole seconds
    assert len([line for line in caplog.messages if f"{part} failed" in line]) == 1
    assert "is away" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_beat_sleeps_no_longer_than_until_the_next_slot_while_another_routine_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row that somebody holds is due all the time; the others are on time."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)  # or on a busy machine the next slot is due by then
    service.create_routine("held", task=TASK, every="10s")
    rewind("held", seconds=30)
    service.create_routine("next", task=TASK, every="10s")
    RoutineState.objects.filter(routine__name="next").update(next_run_at=now + timedelta(seconds=0.4))
    beat = rested_beat()
    for _ in range(6):
        assert beat._sleep_seconds(worked=False, looked_at=clock.now()) <= 0.4


@pytest.mark.django_db(transaction=True)
def test_a_waiting_run_or_a_chore_is_on_time_while_a_routine_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The earliest of all counts, whatever else cannot be got at that moment."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    service.create_routine("held", task=TASK, every="10s")
    rewind("held", seconds=30)
    beat = rested_beat()
    for _ in range(6):  # its own looks are a second apart by then
        beat._sleep_seconds(worked=False, looked_at=clock.now())
    assert beat._sleep_seconds(worked=False, looked_at=clock.now()) == loop.LOCKED_SECONDS[1]

    run = waiting("waits", clock.now())
    RoutineRun.objects.update(publish_after=clock.now() + timedelta(seconds=0.4))
    assert 0.1 <= beat._sleep_seconds(worked=False, looked_at=clock.now()) <= 0.4
    run.delete()
    beat._chores[0].come_again(0.3)
    assert beat._sleep_seconds(worked=False, looked_at=clock.now()) <= 0.3


def rested_beat() -> BeatLoop:
    """One whose chores are done for now."""
    beat = BeatLoop(current_app)
    for chore in beat._chores:
        chore._next = time.monotonic() + 3600.0
    return beat
