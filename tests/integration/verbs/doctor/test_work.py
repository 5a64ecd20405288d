"""The doctor about the work: what waits, what is overdue, what cannot run, what fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import Rotation, Routine, RoutineState
from routines_app.verbs.doctor.answers import Answer
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.doctor.asking import answer
from tests.integration.verbs.health.nodes import seen
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]


def test_nothing_waits(db: None) -> None:
    assert answer("waiting") == Answer("ok", "no run waits")


def test_runs_that_wait_are_grouped_by_what_for(make: Make, time: Time) -> None:
    """The most first, each with its oldest; what waits as it should is no warning."""
    routine = make()
    for number in range(3):
        waiting_run(routine, number, reason="ceiling", eligible_at=MONDAY - timedelta(minutes=number))
    waiting_run(routine, 7, reason="not_yet", eligible_at=MONDAY + timedelta(hours=1))
    waiting_run(routine, 8, reason="lease_held", eligible_at=MONDAY)
    level, found, advice = answer("waiting")
    assert (level, advice) == ("ok", "")
    assert found.startswith("3 for room in a pool, the oldest for 2m; ")
    assert "1 for its time" in found
    assert "1 (lease_held), the oldest for 0s" in found


@pytest.mark.parametrize(
    ("values", "patience", "words", "advice"),
    [
        ({"dispatched_at": MONDAY}, 300, "in the broker, for a worker", "start workers"),
        ({"dispatched_at": MONDAY, "reason": "ceiling"}, 300, "in the broker, for a worker", "start workers"),
        ({}, 60, "to be published", "see that a beat runs"),
    ],
)
def test_runs_that_wait_too_long(
    make: Make, time: Time, values: dict[str, object], patience: int, words: str, advice: str
) -> None:
    waiting_run(make(), 1, **values)
    time.pass_by(seconds=patience)
    assert answer("waiting").level == "ok"
    time.pass_by(seconds=1)
    found = answer("waiting")
    assert found.level == "warning"
    assert found.found.startswith(f"1 {words}, the oldest for ")
    assert found.advice.startswith(advice)


@pytest.mark.parametrize(
    ("reason", "words"), [("publish_failed", "because it could not be sent"), ("redis_away", "for Redis")]
)
def test_runs_that_something_broken_holds(make: Make, time: Time, reason: str, words: str) -> None:
    """At once: nobody waits for that as a rule."""
    waiting_run(make(), 1, reason=reason)
    level, found, advice = answer("waiting")
    assert (level, found, advice) == (
        "warning",
        f"1 {words}, the oldest for 0s",
        "see manage.py routines queue",
    )


@pytest.mark.parametrize(
    ("values", "hours"),
    [
        ({"dispatched_at": MONDAY}, 1),
        ({}, 1),
        ({"reason": "publish_failed"}, 1),
        ({"reason": "redis_away"}, 1),
        ({"reason": "ceiling"}, 24),
        ({"reason": "lease_held"}, 24),
    ],
)
def test_runs_that_wait_far_too_long_are_an_error(
    make: Make, time: Time, values: dict[str, object], hours: int
) -> None:
    """With something to do about it; also for room in a pool that there never is."""
    waiting_run(make(), 1, **values)
    time.pass_by(hours=hours)
    assert answer("waiting").level != "error"
    time.pass_by(seconds=1)
    level, _, advice = answer("waiting")
    assert level == "error"
    assert advice


@pytest.mark.parametrize("reason", ["not_yet", "paused", "parked"])
def test_what_somebody_has_planned_or_paused_may_wait(make: Make, time: Time, reason: str) -> None:
    waiting_run(make(), 1, reason=reason)
    time.pass_by(days=30)
    assert answer("waiting").level == "ok"


def test_overdue(make: Make, time: Time) -> None:
    make(every="1h")
    time.pass_by(hours=1, seconds=60)
    assert answer("overdue") == Answer("ok", "nothing is overdue")
    time.pass_by(seconds=1)
    assert answer("overdue").level == "error"
    assert "1 routine is overdue" in answer("overdue").found


def test_a_task_that_no_worker_knows(make: Make, time: Time) -> None:
    """Celery's own each worker has; one that is gone knows nothing any more."""
    make(task="shop.sync", allow_unknown_task=True)
    make("cleanup", task="celery.backend_cleanup")
    seen("worker@a:1", time, tasks=[NOTE])
    seen("worker@gone:2", time, seconds=999, tasks=["shop.sync"])
    level, found, _ = answer("tasks")
    assert (level, found) == ("error", "no worker knows shop.sync")
    seen("worker@a:2", time, tasks=["shop.sync"])
    assert answer("tasks") == ("ok", "workers know all 2", "")


def test_tasks_of_phases_are_wanted_too(make: Make, time: Time) -> None:
    """A rotation's, and those of a member that has its own; one that is archived needs none."""
    seen("worker@a:1", time, tasks=[NOTE])
    rotation = service.create_rotation("feeds", phases=[{"name": "plan", "task": NOTE}])
    assert answer("tasks").level == "ok"
    Rotation.objects.filter(pk=rotation.pk).update(phases=[{"name": "plan", "task": "shop.plan"}, "no phase"])
    assert answer("tasks")[:2] == ("error", "no worker knows shop.plan")
    member = make("member")
    Routine.objects.filter(pk=member.pk).update(phases=[{"name": "plan", "task": "shop.own"}])
    assert answer("tasks")[:2] == ("error", "no worker knows shop.own, shop.plan")
    Routine.objects.filter(name__in=("feeds", "member")).update(status=RoutineStatus.ARCHIVED)
    assert answer("tasks").level == "ok"


def test_a_task_that_this_process_does_not_know(make: Make, time: Time) -> None:
    """Only a warning: nobody is there who must know it."""
    make()
    assert answer("tasks") == ("ok", "this process knows all 1", "")
    make("other", task="shop.sync", allow_unknown_task=True)
    level, found, _ = answer("tasks")
    assert (level, found) == ("warning", "this process does not know shop.sync, and no worker is there to ask")


def test_a_routine_that_is_not_active_needs_no_task(make: Make) -> None:
    service.archive_routine(make("other", task="shop.sync", allow_unknown_task=True))
    assert answer("tasks").level == "ok"


def test_schedules_that_fire(make: Make, time: Time) -> None:
    """By hand only, and one that catches up, are as they should be; a paused one is meant to be."""
    make("often", every="1h")
    make("by hand")
    service.pause_routine(make("paused", every="1h"))
    late = make("late", every="1h", catch_up_policy="ALL")
    RoutineState.objects.filter(routine=late).update(next_run_at=None, next_source=Source.CATCHING_UP)
    assert answer("never fire") == Answer("ok", "each active schedule has a next time")


def test_a_schedule_that_has_ended(make: Make, time: Time) -> None:
    make(every="1h", end_at=MONDAY - timedelta(minutes=1), start_at=MONDAY - timedelta(days=1))
    assert RoutineState.objects.get().next_source == Source.ENDED
    level, found, advice = answer("never fire")
    assert (level, found) == ("warning", "ended, and still active 1: report")
    assert "archive" in advice


def test_a_schedule_without_a_plan(make: Make, time: Time) -> None:
    """As plain SQL leaves one; the names of the first, and how many more."""
    for number in range(5):
        make(f"r{number}", every="1h")
    RoutineState.objects.update(next_run_at=None, next_slot=None, next_source=Source.PARKED, slot_source="")
    level, found, advice = answer("never fire")
    assert (level, found, advice) == (
        "error",
        "without a plan 5: r0, r1, r2 and 2 more",
        "run manage.py routines replan",
    )


def test_parked_and_failing(make: Make, time: Time) -> None:
    assert answer("parked") == answer("failing") == Answer("ok", "none")
    make("bad")
    make("worse")
    RoutineState.objects.filter(routine__name="bad").update(failure_count=2)
    Routine.objects.filter(name="worse").update(status=RoutineStatus.PARKED)
    RoutineState.objects.filter(routine__name="worse").update(failure_count=9, next_source=Source.PARKED)
    assert answer("failing")[:2] == ("warning", "1: bad")
    assert answer("parked")[:2] == ("warning", "1: worse")
