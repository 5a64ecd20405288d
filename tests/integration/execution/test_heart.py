"""The heart: heartbeats, stop requests, leases, and what it takes to call a run lost."""

from __future__ import annotations

import threading
import time
from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import OperationalError, transaction
from django.test import override_settings
from django.utils import timezone

from routines_app.coordination import leases
from routines_app.coordination.wakeups import Listener
from routines_app.core.words import Reason, RunStatus
from routines_app.execution.heart import LOOK_SECONDS, Heart
from routines_app.execution.live import LiveRun
from routines_app.execution.renewal import Renewal
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import Watchdog
from routines_app.models import RoutineRun, RunLog
from routines_app.protocol.end.finish import close_run, finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.record.outcome import failed, succeeded
from routines_app.protocol.run.heartbeat import Pulse, beat_heart, write_log
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.holding import needs_row_locks, row_locked
from tests.processes import free_port, stretched, wait_for


class Noted:
    """An interrupter that only counts."""

    can_end_process = False

    def __init__(self) -> None:
        self.interrupts = 0

    def interrupt(self, run: Any) -> None:
        self.interrupts += 1

    def body_over(self) -> None: ...


def live(name: str = "plain", **policies: Any) -> LiveRun:
    begun = start(ring(routine(name, **policies), send=False).id, "me")
    assert isinstance(begun, Started)
    run = LiveRun(begun.facts, Noted(), time.monotonic())
    run.enter_body()
    return run


def speak(runs: list[LiveRun], now: float | None = None) -> Heart:
    heart = Heart(lambda: runs)
    heart._speak(runs, time.monotonic() if now is None else now, set())
    return heart


def test_a_conflict_with_others_is_no_outage(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A deadlock with the end of another run, say: it is tried again at once, and nobody is told of an outage."""
    run = live()
    run.set_progress({"done": 1})
    tries: list[object] = []

    def meet_others(said: dict[UUID, Any]) -> dict[UUID, Pulse]:
        tries.append(said)
        if len(tries) == 1:
            raise OperationalError from Exception(1213, "Deadlock found when trying to get lock")
        return beat_heart(said)

    monkeypatch.setattr("routines_app.execution.heart.beat_heart", meet_others)
    assert not Heart(lambda: [run])._round(time.monotonic(), set())
    assert (len(tries), RoutineRun.objects.get(id=run.id).progress) == (2, {"done": 1})
    assert "cannot be reached" not in caplog.text


def renew(runs: list[LiveRun]) -> None:
    Renewal(lambda: runs).renew(runs)


def test_a_heartbeat_stamps_all_runs_and_brings_stop_requests() -> None:
    """One statement for the whole process."""
    one, other = live("one"), live("other")
    before = RoutineRun.objects.get(id=one.facts.id).heartbeat_at
    with transaction.atomic():
        request_stop([other.facts.id], Reason.REPLACED, timezone.now())
    speak([one, other])
    after = RoutineRun.objects.get(id=one.facts.id).heartbeat_at
    assert before is not None
    assert after is not None
    assert after > before
    assert (one.stop, other.stop) == (None, Stop.REPLACED)
    assert isinstance(other.interrupter, Noted)
    assert other.interrupter.interrupts == 1


@needs_row_locks
def test_a_row_that_a_stranger_has_locked_silences_nobody() -> None:
    """The others are stamped; the locked run is not lost, and what it has said is written when the row is free."""
    held, free = live("held"), live("free")
    for run in (held, free):
        run.set_progress({"done": 1})
        run.add_line(timezone.now(), "hello")
    before = RoutineRun.objects.get(id=free.facts.id).heartbeat_at
    with row_locked(held.facts.id):
        heart = speak([held, free])
        assert heart._due["beat"] < time.monotonic() + LOOK_SECONDS
    row = RoutineRun.objects.get(id=free.facts.id)
    assert before is not None
    assert row.heartbeat_at is not None
    assert row.heartbeat_at > before
    assert (held.stop, free.stop) == (None, None)
    assert list(RunLog.objects.values_list("run_id", "line")) == [(free.facts.id, "hello")]
    heart._speak([held, free], time.monotonic() + LOOK_SECONDS, set())
    assert RoutineRun.objects.get(id=held.facts.id).progress == {"done": 1}
    assert RunLog.objects.filter(run_id=held.facts.id).count() == 1


def test_a_run_that_somebody_else_ended_is_lost() -> None:
    run = live()
    RoutineRun.objects.filter(id=run.facts.id).update(
        status=RunStatus.FAILED, reason=Reason.ORPHANED, completed_at=timezone.now()
    )
    speak([run])
    assert run.stop is Stop.LOST


def test_a_run_that_lost_its_row_does_not_keep_the_lease() -> None:
    """Its body may not stop for hours, and would take the lease again and again from the run that comes next."""
    run = live(concurrency_policy="FORBID")
    run.ask_to_stop(Stop.TIMEOUT, 1.0)
    close_run(run.facts.id, failed(Reason.ABANDONED))
    renew([run])
    assert leases.holder(run.facts.routine_id) is not None
    speak([run])
    renew([run])
    assert leases.holder(run.facts.routine_id) is None


def test_a_body_that_has_ended_is_not_interrupted() -> None:
    """The heart may see the end that the run itself has just written."""
    run = live()
    run.leave_body()
    finish(run.facts, succeeded(None))
    speak([run])
    assert run.stop is None


def test_a_lease_that_redis_forgot_is_taken_again(redis_client: redis.Redis) -> None:
    run = live(concurrency_policy="FORBID")
    redis_client.flushdb()
    renew([run])
    holder = leases.holder(run.facts.routine_id)
    assert holder is not None
    assert holder[0] == run.facts.token
    assert run.stop is None


def test_the_ledger_decides_when_another_run_holds_the_lease(redis_client: redis.Redis) -> None:
    """After a flush another run may hold the lease for a moment, until the running key refuses it."""
    run = live(concurrency_policy="FORBID")
    redis_client.flushdb()
    leases.acquire(run.facts.routine_id, "another", 30)
    renew([run])
    speak([run])
    assert run.stop is None


def test_progress_and_log_lines_are_written_while_the_run_lasts() -> None:
    run = live()
    run.set_progress({"done": 1, "total": 2, "note": ""})
    run.add_line(timezone.now(), "hello")
    speak([run])
    assert RoutineRun.objects.get(id=run.facts.id).progress == {"done": 1, "total": 2, "note": ""}
    assert list(RunLog.objects.values_list("line", flat=True)) == ["hello"]
    assert run.take_lines() == []


def test_a_run_that_lost_its_row_writes_no_log() -> None:
    run = live()
    finish(run.facts, succeeded(None))
    assert write_log(run.facts.id, run.facts.fence, [(timezone.now(), "too late")]) is False
    assert not RunLog.objects.exists()
    assert beat_heart({run.facts.id: None}) == {}


def test_a_renewal_does_not_bring_back_the_lease_of_a_run_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither after the end, nor when the end comes in the middle of it: the routine's next run would have to wait."""
    run = live(concurrency_policy="FORBID")
    renewing = leases.renew

    def ends_meanwhile(*arguments: Any) -> bool:
        finish(run.facts, succeeded(None), give_back=run.give_lease_back)
        return renewing(*arguments)

    monkeypatch.setattr(leases, "renew", ends_meanwhile)
    renew([run])
    assert leases.holder(run.facts.routine_id) is None
    monkeypatch.setattr(leases, "renew", renewing)
    renew([run])
    assert leases.holder(run.facts.routine_id) is None


@pytest.mark.parametrize("part", ["_heart", "_renewal"])
def test_a_thread_that_died_is_replaced(part: str) -> None:
    """Whatever ended it: without it a run that lives would be found orphaned."""
    run = live(concurrency_policy="FORBID")
    dog = Watchdog()
    dog._runs = {run.facts.id: run}
    dead = threading.Thread(target=lambda: None)
    dead.start()
    dead.join()
    getattr(dog, part)._companion._thread = dead
    dog.look(run.began + 2)
    assert getattr(dog, part)._companion.runs
    dog.release(run)


@pytest.mark.parametrize("part", [Heart, Renewal])
def test_a_thread_that_dies_again_and_again_does_not_look_well(part: type[Heart] | type[Renewal]) -> None:
    """Who replaces it owes what it owed: else nobody would take over."""
    asks = part(list)
    asks._companion._work = lambda: None
    now = time.monotonic()
    for moment in (now - 30, now - 20, now):
        asks.ensure_beating(moment) if isinstance(asks, Heart) else asks.ensure_renewing(moment)
        assert asks._companion.thread is not None
        asks._companion.thread.join(5)
    assert not asks.runs
    assert asks.silent_seconds(now) == pytest.approx(30)
    assert not isinstance(asks, Heart) or asks.unstamped_seconds(now) == pytest.approx(30)


@pytest.mark.parametrize("what", ["the messages", "the runs"])
def test_a_heart_that_cannot_hear_beats_on(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Whatever is raised there: without it the worker's runs would be found orphaned."""
    run = live()
    before = RoutineRun.objects.get(id=run.id).heartbeat_at
    asked: list[int] = []

    def runs() -> list[LiveRun]:
        asked.append(1)
        if what == "the runs" and len(asked) == 1:
            raise ValueError("odd")
        return [] if run.has_ended() else [run]

    def wait(*_: object) -> list[str]:
        raise ValueError("odd")

    if what == "the messages":
        monkeypatch.setattr(Listener, "wait", wait)
    heart = Heart(runs)
    heart.ensure_beating(time.monotonic(), silent=1.0)
    thread = heart._companion.thread
    wait_for(lambda: RoutineRun.objects.get(id=run.id).heartbeat_at != before, 10, "it does not beat")
    assert heart._companion.thread is thread
    run.end()


def test_one_of_both_is_enough_to_go_on() -> None:
    """Without Redis the ledger's answer keeps the run alive."""
    run = live(concurrency_policy="FORBID")
    with override_settings(ROUTINES={"REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}):
        heart = speak([run])
    assert time.monotonic() - heart._heard_at < stretched(1)


def test_the_first_reason_to_stop_counts() -> None:
    run = live()
    assert run.ask_to_stop(Stop.TIMEOUT, 1.0)
    assert not run.ask_to_stop(Stop.CANCELLED, 2.0)
    assert (run.stop, run.stopped_at) == (Stop.TIMEOUT, 1.0)


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_heart_lives_as_long_as_its_runs(rounds: int) -> None:
    """It goes from round to round while there is one, and ends with the last."""
    runs = [live()]
    asked: list[int] = []

    def lasting() -> list[LiveRun]:
        asked.append(len(runs))
        return list(runs)

    heart = Heart(lasting)
    heart.ensure_beating(time.monotonic())
    assert heart.silent_seconds(time.monotonic()) < stretched(1)
    wait_for(lambda: len(asked) >= rounds, 10, "the heart does not go on")
    thread = heart._companion.thread
    assert thread is not None
    assert thread.is_alive()
    runs.clear()
    thread.join(5)
    assert not thread.is_alive()
    assert heart._companion.thread is None
