"""Why it ran late, or was missed, although beats were there: a stranger held its row, or the broker was away."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from celery import current_app
from django.db import OperationalError

from routines_app import service
from routines_app.beat.loop import BeatLoop
from routines_app.beat.seen_broker import SeenBroker
from routines_app.coordination.broker import BrokerAway
from routines_app.coordination.envelope import Message
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim import passed_by
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.publish import outbox
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.service import Because
from tests.integration.holding import held, needs_row_locks
from tests.integration.verbs.why_scene import BEAT, Night, night, said, why

__all__ = ["night"]

pytestmark = pytest.mark.django_db(transaction=True)


class Broker:
    """What a beat publishes with. While it is away nothing goes out."""

    routes_by_arguments = False
    is_away = True

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        if self.is_away:
            raise BrokerAway("connection refused")
        return []


@pytest.fixture
def beat(night: Night, monkeypatch: pytest.MonkeyPatch) -> BeatLoop:
    monkeypatch.setattr(passed_by, "ASK_SECONDS", 0.0)  # the night's seconds are not those of the process
    return BeatLoop(current_app)


def look_for_a_minute(night: Night, beat: BeatLoop) -> None:
    for _ in range(30):
        beat._look()
        night.pass_by(seconds=2)


@needs_row_locks
def test_a_slot_that_a_stranger_held(night: Night, beat: BeatLoop) -> None:
    """While it is held there is no row, and the answer asks the database; later the row says what it waited for."""
    routine = night.make(misfire_grace_ms=3_600_000)
    night.reports(BEAT, until="03:00")
    with held("routinestate", "routine_id", [routine.pk]):
        look_for_a_minute(night, beat)
        answer = why(night, routine)
        assert answer.codes == (Because.DUE, Because.WAITED)
        assert "Somebody holds its row" in str(answer)
    beat._look()

    assert [(wait.reason, wait.since, wait.until) for wait in night.run().waited] == [
        (Reason.ROUTINE_HELD, night.at("03:00:00"), night.at("03:01:00"))
    ]
    night.pass_by(seconds=1)
    answer = why(night, routine)
    assert answer.codes == (Because.PLANNED, Because.LATE, Because.WAITED, Because.WAITING)
    assert "somebody held the routine's row, or its pool's, in the database from 2026-11-17 03:00:00 UTC" in said(
        answer, Because.WAITED
    )


@needs_row_locks
def test_a_slot_that_was_missed_because_a_stranger_held_it(night: Night, beat: BeatLoop) -> None:
    """SKIP: it is too late when the row is free."""
    routine = night.make(misfire_grace_ms=30_000)
    night.reports(BEAT, until="03:00")
    with held("routinestate", "routine_id", [routine.pk]):
        look_for_a_minute(night, beat)
    beat._look()

    assert (night.run().status, night.run().reason) == (RunStatus.SKIPPED, Reason.MISFIRE)
    answer = why(night, routine)
    assert answer.codes == (Because.PLANNED, Because.WAITED, Because.SKIPPED)
    assert "somebody held the routine's row" in said(answer, Because.WAITED)


@needs_row_locks
def test_the_next_slot_of_what_was_held_once_has_waited_for_nobody(night: Night, beat: BeatLoop) -> None:
    """What one slot has waited for is not remembered for another, whoever has claimed it."""
    routine = night.make(cron="*/30 * * * *", misfire_grace_ms=3_600_000)
    night.reports(BEAT, until="03:00")
    with held("routinestate", "routine_id", [routine.pk]):
        look_for_a_minute(night, beat)
    claim_due(night.now)
    assert night.run().waited != []
    night.until("03:30")
    night.claim()

    assert (night.run().scheduled_for, night.run().waited) == (night.at("03:30"), [])
    assert Because.WAITED not in why(night, routine, "03:30").codes


@needs_row_locks
def test_a_lock_that_is_over_is_not_blamed_for_the_jitter_after_it(night: Night, beat: BeatLoop) -> None:
    """The run is let through by nobody before somebody cancels it, long after the row was free."""
    routine = night.make(misfire_grace_ms=3_600_000)
    night.reports(BEAT, until="03:00")
    with held("routinestate", "routine_id", [routine.pk]):
        look_for_a_minute(night, beat)
    claim_due(night.now)
    run = night.run()
    RoutineRun.objects.update(admitted_at=None, reason=Reason.NOT_YET, eligible_at=night.at("04:00"))
    service.cancel_run(run)
    RoutineRun.objects.filter(pk=run.pk).update(completed_at=night.at("03:10"))
    night.until("03:11")

    assert "to 2026-11-17 03:01:00 UTC (1m)" in said(why(night, routine), Because.WAITED)


@needs_row_locks
def test_what_is_held_a_second_time_has_waited_a_second_time(night: Night, beat: BeatLoop) -> None:
    """Nobody has looked in between at what is overdue: nothing was."""
    routine = night.make(cron="*/30 * * * *", misfire_grace_ms=3_600_000)
    night.reports(BEAT, until="03:00")
    for slot in ("03:00", "03:30"):
        night.until(slot)
        with held("routinestate", "routine_id", [routine.pk]):
            look_for_a_minute(night, beat)
        beat._look()
        run = night.run()
        assert [(wait.reason, wait.since) for wait in run.waited] == [(Reason.ROUTINE_HELD, night.at(slot))]


def test_what_nobody_held_asks_for_nothing(night: Night, beat: BeatLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat that comes a minute late claims it at its first look."""
    asked: list[object] = []
    monkeypatch.setattr(passed_by, "still_unclaimed", lambda *args, **kwargs: asked.append(args) or [])
    night.make(misfire_grace_ms=3_600_000)
    night.until("03:01")
    beat._look()

    assert (night.run().waited, asked) == ([], [])


def test_a_run_that_a_broker_was_away_for(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a beat tried it or knew already: the row says so, until it is sent."""
    broker, seen = Broker(), SeenBroker(lambda _: None)
    monkeypatch.setattr(outbox, "broker", lambda: broker)
    tried, rested = night.make("tried"), night.make("rested")
    night.reports(BEAT)
    night.until("03:00")
    night.reports(BEAT)
    for message in claim_due(night.now).messages:  # the first is tried; with the second it rests
        seen.send([message])
    for _ in range(10):
        night.pass_by(seconds=3)
        seen.send(dispatch_waiting(night.now))
    for routine in (tried, rested):
        answer = why(night, routine)
        assert answer.codes == (Because.PLANNED, Because.WAITED, Because.WAITING), str(answer)
        assert "could not reach the broker" in said(answer, Because.WAITED)
    night.pass_by(seconds=4)
    broker.is_away = False
    outbox.send(dispatch_waiting(night.now))
    night.pass_by(seconds=1)

    for routine in (tried, rested):
        (wait,) = routine.runs.get().waited
        assert (wait.reason, wait.since, wait.until) == ("broker_away", night.at("03:00:00"), night.at("03:00:30"))
        answer = why(night, routine)
        assert answer.codes == (Because.PLANNED, Because.WAITED, Because.WAITING), str(answer)
        assert "from 2026-11-17 03:00:00 UTC to 2026-11-17 03:00:34 UTC (34s)" in said(answer, Because.WAITED)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_note_that_cannot_be_written_hides_no_broker_that_is_away(
    night: Night, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """Else each batch would try that broker again, and wait for it."""
    monkeypatch.setattr(outbox, "broker", Broker)
    seen = SeenBroker(lambda _: None)
    night.make()
    night.until("03:00")
    messages = claim_due(night.now).messages
    if is_known:
        seen.send(messages)

    def locked(*_: object, **__: object) -> int:
        raise OperationalError("database is locked")

    monkeypatch.setattr(outbox, "update_free", locked)
    seen.send(messages)

    assert seen.is_resting


def test_a_broker_that_was_away_is_not_blamed_for_a_beat_that_died_then(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was seen to be away once; half an hour later somebody sends it."""
    broker = Broker()
    monkeypatch.setattr(outbox, "broker", lambda: broker)
    routine = night.make()
    night.until("03:00")
    outbox.send(claim_due(night.now).messages)
    broker.is_away = False
    night.until("03:30")
    outbox.send(dispatch_waiting(night.now))

    assert Because.LATE in why(night, routine).codes


@pytest.mark.parametrize("ends", ["clamp", "hint"])
def test_a_slot_that_a_change_left_unplanned(night: Night, ends: str) -> None:
    """The schedule has ended early: there will be no row before the next change, and nothing is lost."""
    routine: Routine = night.make(cron="*/10 * * * *", end_at=night.at("04:00"))
    night.until("02:40")
    night.claim()
    if ends == "clamp":
        service.update_routine(routine, min_interval_ms="10h", actor="ann")
    else:
        service.propose_factor(60, routine=routine, ttl="1d")
        service.replan_routine(routine, actor="ann")
    night.until("03:30")

    answer = why(night, routine)
    assert answer.codes[:2] == (Because.HINTED, Because.EDITED)
    assert "left nothing to fire before the schedule's end" in str(answer)
    assert "by ann" in str(answer)
