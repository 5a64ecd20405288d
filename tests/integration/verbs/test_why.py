"""Why did it (not) run at three: the sentence names the true cause, in scenes that the real protocol makes."""

from __future__ import annotations

import re

import pytest
from pytest_django import DjangoAssertNumQueries

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Role, Routine, RoutineRun
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.start import hand_back
from routines_app.protocol.upkeep.nodes import NodeReport
from routines_app.service import Because
from routines_app.verbs.why import reading
from tests.integration.verbs.why_scene import BEAT, WORKER, Night, night, said, why

__all__ = ["night"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_on_time_there_is_nothing_but_the_plan_and_the_end(night: Night) -> None:
    """Who planned it, when and where it ran; and a moment beside it is no slot."""
    routine = night.make()
    night.until("03:00")
    night.claim()
    night.begin(night.run())
    night.pass_by(seconds=5)
    night.finish(night.run())

    answer = why(night, routine)

    assert answer.codes == (Because.PLANNED, Because.SUCCEEDED)
    assert "planned by its cron" in str(answer)
    assert "began at 2026-11-17 03:00:00 UTC on worker@one, ran for 5s and succeeded" in str(answer)
    assert (answer.slot, answer.run_id) == (night.at("03:00"), night.run().pk)
    beside = why(night, routine, "03:05")
    assert beside.codes == (Because.NO_SLOT, Because.NEAREST)
    assert "no slot of its schedule (0 3 * * *)" in str(beside)
    assert beside.sentences[-1].runs == (night.run().pk,)


def test_a_slot_that_no_beat_came_to(night: Night) -> None:
    """A misfire names the beat that fell silent and the one that came; a late start does so, too."""
    missed = night.make(misfire_grace_ms=60_000)
    late = night.make("late", misfire_grace_ms=3_600_000)
    night.reports(BEAT, until="02:50")
    night.until("03:20")
    night.reports(NodeReport(role=Role.BEAT, pid=7))
    night.claim()

    answer = why(night, missed)
    assert answer.codes == (Because.PLANNED, Because.SKIPPED, Because.NO_BEAT)
    assert re.search(r"beat@\S+:1, was last heard of at 2026-11-17 02:50:00 UTC", said(answer, Because.NO_BEAT))
    assert re.search(r"next one, beat@\S+:7, came at 2026-11-17 03:20:00 UTC", said(answer, Because.NO_BEAT))
    answer = why(night, late)
    assert (
        answer.codes == (Because.PLANNED, Because.LATE, Because.NO_BEAT, Because.IN_THE_BROKER)[:3] + answer.codes[3:]
    )
    assert "came to this slot 20m after its time" in said(answer, Because.LATE)


def test_a_slot_that_is_due_while_no_beat_is_there(night: Night) -> None:
    """It has no row yet: that is said, and since when nobody is there. One that ended in order did not fall silent."""
    routine = night.make()
    night.reports(BEAT)
    night.leaves(BEAT)
    night.until("03:10")

    answer = why(night, routine)

    assert answer.codes == (Because.DUE, Because.NO_BEAT)
    assert "ended in order at 2026-11-17 02:30:00 UTC, and none has come since" in said(answer, Because.NO_BEAT)


def test_where_nothing_was_kept_of_beats_that_is_said(night: Night) -> None:
    """A ledger from before lifetimes were written knows nothing of them; and where a beat was there, nobody guesses."""
    routine = night.make()
    night.until("03:20")
    night.claim()
    assert "nothing is kept of it" in said(why(night, routine), Because.NOT_KNOWN)

    other = night.make("other", cron="30 3 * * *")
    night.reports(BEAT, until="03:45")
    night.claim()
    assert "beats were there" in said(why(night, other, "03:30"), Because.NOT_KNOWN)


def test_an_active_run_blocks_the_next_slot(night: Night) -> None:
    """FORBID: the skipped slot names the run that was active, and the row links it."""
    routine = night.make(cron="*/30 * * * *", concurrency_policy="FORBID")
    night.until("03:00")
    night.claim()
    first = night.run()
    night.begin(first)
    night.until("03:30")
    night.claim()

    skipped = night.run()
    assert (skipped.reason, skipped.blocked_by) == (Reason.OVERLAP, first.pk)
    answer = why(night, routine, "03:30")
    assert answer.codes == (Because.PLANNED, Because.BLOCKED)
    assert f"run {first.pk} of the same routine was active: that one ran since 2026-11-17 03:00:00 UTC" in str(answer)
    assert answer.sentences[-1].runs == (skipped.pk, first.pk)
    by_hand = service.run_now(routine)
    assert (by_hand.status, by_hand.blocked_by) == (RunStatus.SKIPPED, first.pk)


def test_a_replaced_run_and_its_replacement_know_each_other(night: Night) -> None:
    """REPLACE: one that waits is cancelled by the newer one, one that runs is asked to stop for it."""
    routine = night.make(cron="*/30 * * * *", concurrency_policy="REPLACE")
    night.until("03:00")
    night.claim()
    first = night.run()
    night.until("03:30")
    night.claim()
    second = night.run()
    night.begin(second)
    third = service.run_now(routine)

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, first.blocked_by) == (RunStatus.CANCELLED, second.pk)
    assert (second.stop_reason, second.blocked_by) == (Reason.REPLACED, third.pk)
    answer = why(night, routine)
    assert f"before it began: run {second.pk} took its place" in said(answer, Because.REPLACED)


def test_a_newer_slot_takes_the_place_of_one_in_line(night: Night) -> None:
    """QUEUE: of the slots that wait, only the newest stays."""
    routine = night.make(cron="0,10,20 3 * * *", concurrency_policy="QUEUE")
    night.until("03:00")
    night.claim()
    night.begin(night.run())
    night.until("03:10")
    night.claim()
    waiting = night.run()
    night.until("03:20")
    night.claim()

    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason, waiting.blocked_by) == ("SKIPPED", "superseded", night.run().pk)
    answer = why(night, routine, "03:10")
    assert answer.codes == (Because.PLANNED, Because.WAITED, Because.REPLACED)
    assert "behind another run of its routine" in said(answer, Because.WAITED)


def test_waiting_for_room_in_a_pool(night: Night) -> None:
    """Which pool, from when to when."""
    pool = service.create_pool("reports", max_concurrent=1)
    service.run_now(night.make("busy", pool=pool, cron=None))
    busy = night.run()
    admit_pools(night.now)
    routine = night.make(pool=pool)
    night.until("03:00")
    night.claim()
    run = night.run()
    assert "has waited for room in pool reports since 2026-11-17 03:00:00 UTC" in said(
        why(night, routine), Because.WAITED
    )
    night.until("03:07")
    night.begin(busy)
    night.finish(busy)
    admit_pools(night.now)
    night.begin(run)

    answer = why(night, routine)

    assert answer.codes == (Because.PLANNED, Because.WAITED, Because.RUNNING)
    assert "waited for room in pool reports from 2026-11-17 03:00:00 UTC to 2026-11-17 03:07:00 UTC (7m)" in str(answer)


def test_reasons_are_kept_one_after_another(night: Night) -> None:
    """Redis was away, then another run held the lease: both are told, each with its time."""
    routine = night.make(concurrency_policy="FORBID")
    night.until("03:00")
    night.claim()
    run = night.run()
    for reason, minutes in ((Reason.REDIS_AWAY, 2), (Reason.LEASE_HELD, 1)):
        for _ in range(minutes * 6):
            hand_back(run.pk, reason, night.now)
            night.pass_by(seconds=10)
            night.claim()
    night.begin(run)

    run.refresh_from_db()
    assert [(wait.reason, wait.since, wait.until) for wait in run.waited] == [
        ("redis_away", night.at("03:00:00"), night.at("03:02:00")),
        ("lease_held", night.at("03:02:00"), night.at("03:03:00")),
    ]
    answer = why(night, routine)
    waited = [sentence.text for sentence in answer.sentences if sentence.code is Because.WAITED]
    assert "could not reach Redis" in waited[0]
    assert "lease held by another run" in waited[1]


def test_no_worker_for_its_queue(night: Night) -> None:
    """In the broker until one came; a worker of another queue is none."""
    routine = night.make()
    night.reports(BEAT)
    night.reports(WORKER, until="02:40")
    night.leaves(WORKER)
    night.until("02:59")
    night.reports(NodeReport(role=Role.WORKER, queues=["mail"], pid=9))
    night.until("03:00")
    night.claim()
    night.until("03:30")
    night.reports(NodeReport(role=Role.WORKER, queues=["celery"], pid=8))
    night.begin(night.run())

    answer = why(night, routine)

    assert answer.codes == (Because.PLANNED, Because.IN_THE_BROKER, Because.NO_WORKER, Because.RUNNING)
    assert re.search(r"worker for queue 'celery'.*worker@\S+:2, ended in order at 2026-11-17 02:40:00", str(answer))
    assert re.search(r"next one, worker@\S+:8, came at 2026-11-17 03:30:00", str(answer))


def test_attempts_are_told_one_after_another(night: Night) -> None:
    """What each failed by, and what of secrets is in it is not shown."""
    routine = night.make(retry_delay_ms=60_000, retry_jitter=0)
    night.until("03:00")
    night.claim()
    night.begin(night.run())
    close_run(night.run().pk, failed(Reason.EXCEPTION, "KeyError: password=hunter2"))
    night.until("03:05")
    due = {"eligible_at": night.now, "publish_after": night.now}  # the database has a clock of its own
    RoutineRun.objects.filter(trigger="retry").update(**due)
    night.claim()
    night.begin(RoutineRun.objects.get(trigger="retry"))

    answer = why(night, routine)

    assert [code for code in answer.codes if code in (Because.FAILED, Because.RETRIED, Because.RUNNING)] == [
        Because.FAILED,
        Because.RETRIED,
        Because.RUNNING,
    ]
    assert "the task raised: KeyError" in str(answer)
    assert "hunter2" not in str(answer)


def test_an_answer_asks_a_bounded_number_of_questions(
    night: Night, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """However many rows there are around the moment."""
    routine = night.make(cron="* * * * *", concurrency_policy="FORBID")
    for _ in range(40):
        night.pass_by(minutes=1)
        night.claim()
    with django_assert_max_num_queries(14):
        assert why(night, routine, "03:00").slot is not None


def test_few_rows_around_the_moment_tell_the_same(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot is found by its key where its row is not among them; and a routine that was read is not read again."""
    routine = night.make(cron="*/10 * * * *")
    for at in ("02:40", "02:50", *(f"03:{minute:02}" for minute in range(0, 60, 10))):
        night.until(at)
        night.claim()
        for run in RoutineRun.objects.filter(status="PENDING"):
            night.begin(run)
            night.finish(run)
    service.run_now(routine)
    moments = [f"03:{minute:02}" for minute in range(0, 60, 5)]
    told = [str(why(night, routine, at)) for at in moments]
    assert len(set(told)) == len(moments)
    monkeypatch.setattr(reading, "NEAR", 2)
    assert [str(why(night, routine, at)) for at in moments] == told
    read = Routine.objects.select_related("state").get(pk=routine.pk)
    assert [str(service.why_of(read, night.at(at))) for at in moments] == told
