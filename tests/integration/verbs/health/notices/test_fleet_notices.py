"""What is wrong with the fleet: each thing is said, with how many, since when and how bad it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import RunTrigger
from routines_app.models import MovedEntry, Routine, RoutineRun, RoutineState
from routines_app.service import Notice, NoticeKind, NoticeLevel
from routines_app.verbs.health.notices import ask, others
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.health.nodes import seen
from tests.integration.verbs.rows import made_at, running_run, waiting_run

MOST = 18  # statements


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def fleet(db: None, time: Time) -> None:
    seen("beat@a:1", time)
    seen("worker@a:2", time, queues=["celery"])


def found(kind: NoticeKind) -> Notice | None:
    return next((one for one in service.fleet_notices().notices if one.kind is kind), None)


def kinds() -> list[str]:
    return [one.kind for one in service.fleet_notices().notices]


def test_all_is_well_is_one_calm_line(fleet: None, make: Callable[..., Routine]) -> None:
    make(every="1h")
    notices = service.fleet_notices()
    assert notices.level is NoticeLevel.CALM
    assert [one.sentence for one in notices.notices] == [
        "All is well: 1 beat and 1 worker are there, and nothing is overdue."
    ]


def test_a_dead_fleet_is_an_alarm_with_how_many_are_overdue_and_since_when(
    make: Callable[..., Routine], time: Time
) -> None:
    """Its rows stay when nobody is left to take them away; they say when it was last seen."""
    for number in range(3):
        make(f"r{number}", every="1m")
    seen("beat@a:1", time)
    seen("worker@a:2", time, queues=["celery"])
    last = time.now
    time.pass_by(minutes=12)
    beat, worker = service.fleet_notices().notices[:2]
    assert (beat.kind, beat.level, beat.count, beat.since) == (NoticeKind.NO_BEAT, NoticeLevel.ALARM, 3, last)
    assert beat.sentence == "No beat is alive, and 3 routines are overdue: nothing fires."
    assert (worker.kind, worker.level, worker.since) == (NoticeKind.NO_WORKER, NoticeLevel.ALARM, last)


def test_of_beats_that_left_no_row_the_last_claimed_run_tells(make: Callable[..., Routine], time: Time) -> None:
    """A run that a person asks for needs no beat."""
    routine = make(every="1h")
    waiting_run(routine, 1, id=made_at(time.now))
    waiting_run(routine, 2, id=made_at(time.pass_by(minutes=2)), trigger=RunTrigger.MANUAL)
    time.pass_by(minutes=10)
    notice = found(NoticeKind.NO_BEAT)
    assert (notice.since, notice.level) == (MONDAY, NoticeLevel.ALARM)
    assert notice.sentence == "No beat is alive: what comes due will not fire."


def test_a_new_installation_is_warned_not_alarmed(db: None, time: Time) -> None:
    """Nothing is planned that would not fire."""
    assert service.fleet_notices().level is NoticeLevel.WARNING
    assert found(NoticeKind.NO_BEAT).sentence == "No beat is alive. Nothing is planned either."


def test_a_beat_that_claims_nothing_is_an_alarm(make: Callable[..., Routine], time: Time) -> None:
    make(every="1h")
    due = time.pass_by(hours=1)
    time.pass_by(minutes=2)
    seen("beat@a:1", time)
    notice = found(NoticeKind.OVERDUE)
    assert (notice.level, notice.count, notice.since) == (NoticeLevel.ALARM, 1, due)
    assert notice.sentence == "1 routine is overdue although a beat is alive: nothing is claimed."


def test_a_queue_without_a_worker_is_named_with_how_many_wait(
    fleet: None, make: Callable[..., Routine], time: Time
) -> None:
    """What was sent a moment ago may be on its way; a worker that drains takes nothing."""
    routine = make(queue="reports")
    for number in range(2):
        waiting_run(routine, number, queue="reports", dispatched_at=time.now)
    waiting_run(routine, 3, dispatched_at=time.now, queue="celery")
    seen("worker@b:3", time, queues=["reports"], draining=True)
    assert found(NoticeKind.UNCONSUMED) is None
    time.pass_by(seconds=20)
    notice = found(NoticeKind.UNCONSUMED)
    assert (notice.level, notice.count, notice.about, notice.since) == (NoticeLevel.ALARM, 2, "reports", MONDAY)
    assert notice.sentence == "No worker consumes queue reports, and 2 runs wait in it."
    seen("worker@b:3", time, queues=["reports"], draining=False)
    assert found(NoticeKind.UNCONSUMED) is None


def test_a_backlog_is_told_with_its_growth(fleet: None, make: Callable[..., Routine], time: Time) -> None:
    """By what somebody saw some minutes ago; a run that people hold back is no backlog."""
    routine = make()
    waiting_run(routine, 1, reason="ceiling")
    waiting_run(routine, 2, reason="paused")
    assert found(NoticeKind.BACKLOG) is None, "it is due now"
    time.pass_by(seconds=61)
    notice = found(NoticeKind.BACKLOG)
    assert (notice.count, notice.earlier, notice.since, notice.level) == (1, 0, MONDAY, NoticeLevel.WARNING)
    time.pass_by(seconds=179)
    waiting_run(routine, 3, reason="ceiling")
    notice = found(NoticeKind.BACKLOG)
    assert (notice.count, notice.earlier) == (2, 0)
    assert notice.sentence == ("2 runs have been due for more than a minute and not begun, 2 more than 4m ago.")


def test_what_waits_for_a_drained_pool_is_no_backlog(fleet: None, make: Callable[..., Routine], time: Time) -> None:
    """Somebody has closed it, and knows; what runs on, or waits for another pool, counts as ever."""
    closed = service.create_pool("closed", max_concurrent=2)
    waiting_run(make("a", pool="closed"), 1, pool=closed, admitted_at=None, reason="ceiling")
    waiting_run(make("b"), 2, reason="ceiling")
    service.drain_pool(closed)
    time.pass_by(seconds=61)
    assert found(NoticeKind.BACKLOG).count == 1
    service.open_pool(closed)
    assert found(NoticeKind.BACKLOG).count == 2


def test_a_backlog_in_which_nothing_moves_is_an_alarm(fleet: None, make: Callable[..., Routine], time: Time) -> None:
    waiting_run(make(), 1, id=made_at(MONDAY))
    time.pass_by(seconds=61)
    assert found(NoticeKind.BACKLOG).level is NoticeLevel.ALARM


@pytest.mark.parametrize(
    ("silent_seconds", "kind", "says"),
    [
        (119, None, ""),
        (121, NoticeKind.DOUBTFUL, "worker@b:3 is doubtful: two of its reports have not come."),
        (181, NoticeKind.GONE, "worker@b:3 is gone: three of its reports have not come."),
    ],
)
def test_a_node_is_doubtful_after_two_missed_reports_and_gone_after_three(
    fleet: None, time: Time, silent_seconds: int, kind: NoticeKind | None, says: str
) -> None:
    seen("worker@b:3", time, seconds=silent_seconds)
    told = [one for one in service.fleet_notices().notices if one.kind in (NoticeKind.DOUBTFUL, NoticeKind.GONE)]
    assert [(one.kind, one.sentence) for one in told] == ([(kind, says)] if kind else [])


def test_what_beats_cannot_reach_is_told_masked(fleet: None, time: Time) -> None:
    """Of all beats an alarm, of one among several a warning."""
    seen("beat@a:1", time, versions={"problems": ["The broker is away: redis://:hunter2@db"]})
    notice = found(NoticeKind.PROBLEM)
    assert (notice.level, notice.count, notice.of) == (NoticeLevel.ALARM, 1, 2)
    assert notice.sentence.startswith("The broker is away: ")
    assert "hunter2" not in notice.sentence
    seen("beat@b:1", time)
    assert found(NoticeKind.PROBLEM).level is NoticeLevel.WARNING


def test_clocks_that_differ_are_told(fleet: None, time: Time) -> None:
    seen("beat@a:1", time, versions={"clock_ahead_seconds": 3.24})
    seen("worker@a:2", time, versions={"clock_ahead_seconds": -0.5})
    assert found(NoticeKind.CLOCK).sentence == "Clocks differ from the database's: beat@a:1 is 3.2 s ahead."


def test_parked_and_failing_routines_are_counted(fleet: None, make: Callable[..., Routine], time: Time) -> None:
    for number in range(2):
        routine = make(f"bad{number}")
        RoutineState.objects.filter(pk=routine.pk).update(failure_count=2)
        run = running_run(routine, number, id=made_at(time.now))
        RoutineRun.objects.filter(pk=run.pk).update(status="FAILED", completed_at=time.now)
    parked = make("parked")
    RoutineState.objects.filter(pk=parked.pk).update(next_run_at=None, next_source="parked")
    Routine.objects.filter(pk=parked.pk).update(status="PARKED")
    told = {one.kind: (one.count, one.sentence) for one in service.fleet_notices().notices}
    assert told[NoticeKind.FAILING] == (2, "2 routines are failing.")
    assert told[NoticeKind.PARKED] == (1, "1 routine is parked.")
    assert service.fleet_notices().level is NoticeLevel.WARNING


def test_one_whose_failed_runs_are_not_kept_still_fails(fleet: None, make: Callable[..., Routine]) -> None:
    RoutineState.objects.filter(pk=make(every="1h").pk).update(failure_count=3)
    assert found(NoticeKind.FAILING).count == 1


def test_counts_have_an_end() -> None:
    notice = Notice(kind=NoticeKind.PARKED, level=NoticeLevel.WARNING, count=1_000)
    assert notice.sentence == "1,000 or more routines are parked."


def test_another_schedulers_tables_in_use_are_told(
    fleet: None, make: Callable[..., Routine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both would fire is an alarm; what is enabled there because its routine is in shadow is as it should be."""
    monkeypatch.setattr(others, "_enabled", lambda: {"report": "tests.acceptance.tasks.note", "lonely": "shop.tasks.x"})
    assert found(NoticeKind.OTHER_SCHEDULER).count == 2
    routine = make("report")
    assert found(NoticeKind.FIRED_TWICE).sentence == (
        "django-celery-beat has 1 enabled entry that routines fire as well: report."
    )
    Routine.objects.filter(pk=routine.pk).update(shadow=True)
    MovedEntry.objects.create(routine=routine, scheduler="django-celery-beat", key="report")
    assert found(NoticeKind.FIRED_TWICE) is None
    assert found(NoticeKind.OTHER_SCHEDULER).count == 1


def test_its_table_is_found_without_its_app(
    fleet: None, django_celery_beat: None, add_entry: Callable[..., object]
) -> None:
    add_entry("nightly", interval={"every": 1, "period": "hours"})
    assert found(NoticeKind.OTHER_SCHEDULER).count == 1


def test_the_questions_are_few_however_much_is_wrong(make: Callable[..., Routine], time: Time) -> None:
    for number in range(20):
        routine = make(f"r{number}", every="1h", queue=f"q{number}")
        waiting_run(routine, number, queue=f"q{number}", dispatched_at=time.now)
        seen(f"beat@a:{number}", time, seconds=400)
        seen(f"worker@a:{number}", time, queues=["celery"], versions={"problems": ["x"], "clock_ahead_seconds": 9})
    time.pass_by(hours=2)
    seen("worker@b:1", time, queues=["celery"])
    with CaptureQueriesContext(connection) as captured:
        notices = service.fleet_notices().notices
    queues = [one.of for one in notices if one.kind is NoticeKind.UNCONSUMED]
    assert queues == [1, 1, 1, 17]
    assert len(captured) <= MOST, [query["sql"][:120] for query in captured]


def test_a_question_that_fails_is_a_notice_and_the_others_are_asked(
    fleet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Iterator[Notice]:
        raise OperationalError("lock on postgres://ada:hunter2@db\nmore")

    monkeypatch.setattr(ask, "parked", away)
    (notice,) = service.fleet_notices().notices
    assert notice.sentence.startswith("The health of the fleet could not be asked: lock on postgres://")
    assert "hunter2" not in notice.sentence
    assert "more" not in notice.sentence


def test_ten_who_ask_at_once_ask_once(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks, and the others wait for that answer; afterwards it is kept for a moment."""
    monkeypatch.setattr(ask, "SECONDS", 60.0)
    monkeypatch.setattr(ask, "KEPT_SECONDS", 600)
    asked, real = [], ask.fleet_notices
    monkeypatch.setattr(ask, "fleet_notices", lambda: (asked.append(1), real())[1])
    answers: list[service.Notices] = []
    threads = [threading.Thread(target=lambda: answers.append(service.recent_notices())) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(asked), len(answers)) == (1, 10)
    assert len({answer.notices for answer in answers}) == 1
    assert answers[0].notices[0].kind is NoticeKind.NO_BEAT


def test_a_database_that_hangs_costs_a_page_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    thawed = threading.Event()
    monkeypatch.setattr(ask, "SECONDS", 0.1)
    monkeypatch.setattr(ask, "_shared", ask.SharedAnswer("notices-test"))
    monkeypatch.setattr(ask, "fleet_notices", lambda: thawed.wait(60))
    said = [service.recent_notices().notices[0].sentence for _ in range(2)]
    thawed.set()
    assert said == [
        "The health of the fleet could not be asked: no answer within 0.1 s.",
        "The health of the fleet could not be asked: it has not answered the last question yet.",
    ]


def test_a_role_that_is_missing_alone_is_told_alone(fleet: None, make: Callable[..., Routine], time: Time) -> None:
    make(every="3h")
    time.pass_by(minutes=10)
    seen("beat@a:1", time)
    assert kinds() == [NoticeKind.NO_WORKER]
    assert found(NoticeKind.NO_WORKER).sentence == "No worker is alive: no run can begin."
