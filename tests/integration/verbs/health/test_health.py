"""Health, from the ledger: who has reported itself, and whether the plan moves."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from routines_app import service
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RunStatus, RunTrigger
from routines_app.models import Node, Role, Routine, RoutineRun
from routines_app.protocol.upkeep.nodes import forget_gone
from routines_app.verbs.health import health as module
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.health.nodes import seen
from tests.integration.verbs.rows import made_at, running_run, waiting_run

HERE = socket.gethostname()
BEAT, WORKER = [Role.BEAT], [Role.WORKER]


def test_everybody_is_healthy_who_has_reported_lately(db: None, time: Time) -> None:
    """Two reports may have been missed."""
    seen("beat@a:1", time, seconds=179)
    seen("worker@a:2", time, seconds=10)
    found = service.health()
    assert found.healthy
    assert found.why == "1 beat, seen 2m 59s ago; 1 worker, seen 10s ago; nothing is overdue"


def test_nobody_there_is_unhealthy(db: None, time: Time) -> None:
    found = service.health(roles=BEAT)
    assert not found.healthy
    assert "no beat has reported itself in the last 3m" in found.why


def test_a_beat_that_is_silent_is_unhealthy_and_named(db: None, time: Time) -> None:
    """Its process may still be there: that it does not tick is what counts."""
    seen("beat@a:1", time, seconds=181)
    found = service.health(roles=BEAT)
    assert not found.healthy
    assert "(the last was beat@a:1, 3m 1s ago)" in found.why


def test_each_role_is_judged_by_itself(db: None, time: Time) -> None:
    seen("beat@a:1", time)
    assert service.health(roles=BEAT).healthy
    assert not service.health(roles=WORKER).healthy
    assert not service.health().healthy


def test_a_plan_that_does_not_move_is_unhealthy(make: Callable[..., Routine], time: Time) -> None:
    """However alive the beats are: nobody claims what is due. A moment later than due is everyday."""
    seen("beat@a:1", time)
    make(every="1h")
    due = time.pass_by(hours=1)
    seen("beat@a:1", time)
    time.pass_by(seconds=59)
    assert service.health(roles=BEAT).healthy
    time.pass_by(seconds=2)
    found = service.health(roles=BEAT)
    assert not found.healthy
    assert (found.overdue.count, found.overdue.since) == (1, due)
    assert found.why.endswith("1 routine is overdue, the first since 2026-03-02 11:00:30+00:00: no beat claims it")
    assert service.health(roles=WORKER).overdue is None, "workers have nothing to do with it"


def test_one_routine_that_cannot_be_claimed_does_not_make_a_fleet_unhealthy(
    make: Callable[..., Routine], time: Time
) -> None:
    """Others are claimed that came after it. It is told all the same, and counts when nothing is claimed any more."""
    make("bad", every="1h")
    other = make("good", every="3h")
    time.pass_by(hours=1, seconds=61)
    seen("beat@a:1", time)
    waiting_run(other, 1, id=made_at(time.now - timedelta(seconds=70)), dispatched_at=time.now)
    assert not service.health(roles=BEAT).healthy, "that was before it became due"
    waiting_run(other, 2, id=made_at(time.now), trigger=RunTrigger.MANUAL, dispatched_at=time.now)
    assert not service.health(roles=BEAT).healthy, "no beat was needed for that"
    skipped = waiting_run(other, 4, id=made_at(time.now), status="SKIPPED", reason="superseded", completed_at=MONDAY)
    assert not service.health(roles=BEAT).healthy, "an edit leaves such a row"
    RoutineRun.objects.filter(pk=skipped.pk).delete()
    waiting_run(other, 3, id=made_at(time.now), dispatched_at=time.now)
    found = service.health(roles=BEAT)
    assert found.healthy, found.why
    assert found.why.endswith(
        "1 routine is overdue, the first since 2026-03-02 11:00:30+00:00: no beat claims it, while others are claimed"
    )
    time.pass_by(hours=2, seconds=120)
    seen("beat@a:1", time)
    assert not service.health(roles=BEAT).healthy, "the good one is overdue too, and nothing has been claimed since"


@pytest.mark.parametrize("reason", ["", "publish_failed", "redis_away"])
def test_runs_that_nobody_sends_are_unhealthy(make: Callable[..., Routine], time: Time, reason: str) -> None:
    """The beat reports itself, and its broker takes nothing."""
    routine = make()
    waiting_run(routine, 1, id=made_at(MONDAY), reason=reason)
    time.pass_by(seconds=60)
    seen("beat@a:1", time)
    assert service.health(roles=BEAT).healthy
    time.pass_by(seconds=1)
    found = service.health(roles=BEAT)
    assert not found.healthy
    assert found.why.endswith("nothing is sent: a run has been waiting for that since 2026-03-02 10:00:30+00:00")
    waiting_run(routine, 2, id=made_at(time.now), trigger=RunTrigger.MANUAL, dispatched_at=time.now)
    assert not service.health(roles=BEAT).healthy, "whoever asked for that one has sent it"
    waiting_run(routine, 3, id=made_at(time.now), dispatched_at=time.now)
    assert service.health(roles=BEAT).healthy, "a later one was sent: the trouble is that one's own"


@pytest.mark.parametrize("reason", ["ceiling", "not_yet", "paused", "lease_held"])
def test_runs_that_wait_as_they_should_are_healthy(make: Callable[..., Routine], time: Time, reason: str) -> None:
    waiting_run(make(), 1, reason=reason)
    time.pass_by(days=2)
    seen("beat@a:1", time)
    assert service.health(roles=BEAT).healthy


def test_runs_that_no_worker_begins_are_unhealthy(make: Callable[..., Routine], time: Time) -> None:
    """However alive the workers say they are."""
    waiting_run(make(), 1, dispatched_at=MONDAY)
    time.pass_by(minutes=5)
    seen("worker@a:1", time)
    assert service.health(roles=WORKER).healthy
    time.pass_by(seconds=1)
    found = service.health(roles=WORKER)
    assert not found.healthy
    assert found.why.endswith("no run begins: one that was sent at 2026-03-02 10:00:30+00:00 has not")


def test_a_long_queue_is_healthy_while_workers_work(make: Callable[..., Routine], time: Time) -> None:
    """A body runs, or one has ended lately."""
    routine = make()
    time.pass_by(hours=1)
    waiting_run(routine, 1, dispatched_at=time.now - timedelta(minutes=6))
    seen("worker@a:1", time)
    running = running_run(routine, 2, started_at=MONDAY, heartbeat_at=time.now - timedelta(minutes=1))
    assert service.health(roles=WORKER).healthy
    RoutineRun.objects.filter(pk=running.pk).update(heartbeat_at=MONDAY)
    assert not service.health(roles=WORKER).healthy
    ended = {"status": RunStatus.SUCCESS, "completed_at": time.now - timedelta(minutes=4)}
    RoutineRun.objects.filter(pk=running.pk).update(**ended)
    assert service.health(roles=WORKER).healthy
    RoutineRun.objects.filter(pk=running.pk).update(completed_at=time.now - timedelta(minutes=6))
    assert not service.health(roles=WORKER).healthy


def test_a_queue_that_nobody_consumes_does_not_make_a_fleet_unhealthy(make: Callable[..., Routine], time: Time) -> None:
    """What was sent after it has begun, however long ago that was."""
    routine = make()
    waiting_run(routine, 1, dispatched_at=MONDAY)
    ended = running_run(routine, 2, started_at=MONDAY + timedelta(seconds=1))
    RoutineRun.objects.filter(pk=ended.pk).update(status=RunStatus.SUCCESS, completed_at=MONDAY + timedelta(seconds=2))
    time.pass_by(minutes=50)
    seen("worker@a:1", time)
    assert service.health(roles=WORKER).healthy
    waiting_run(routine, 3, dispatched_at=time.now - timedelta(minutes=6))
    assert not service.health(roles=WORKER).healthy, "that one was sent after all that has begun"


@pytest.mark.parametrize("role", list(Role))
def test_a_fleet_of_which_each_has_a_problem_is_unhealthy(db: None, time: Time, role: Role) -> None:
    """One that has none is enough; and no host is restarted for it."""
    seen(f"{role}@{HERE}:1", time, versions={"problems": ["Redis is away: redis://:hunter2@db"]})
    found = service.health(roles=[role])
    assert (found.healthy, "each with a problem: Redis is away" in found.why) == (False, True)
    assert "hunter2" not in found.why
    assert service.health(roles=[role], here=True).healthy
    seen(f"{role}@b:2", time, versions={"problems": []})
    assert service.health(roles=[role]).healthy


def test_here_is_about_this_host_alone(make: Callable[..., Routine], time: Time) -> None:
    """Neither another host's beat nor a plan that nobody moves is a reason to restart this one, or to spare it."""
    make(every="1h")
    time.pass_by(hours=2)
    seen("beat@elsewhere:1", time)
    assert not service.health(roles=BEAT, here=True).healthy
    seen(f"beat@{HERE}:1", time)
    Node.objects.filter(host="elsewhere").delete()
    found = service.health(roles=BEAT, here=True)
    assert found.healthy, found.why
    assert found.why == f"1 beat on {HERE}, seen 0s ago"


def test_a_worker_that_takes_no_more_work_is_healthy_only_here(db: None, time: Time) -> None:
    """A probe must not kill it while its runs end; the fleet needs another one."""
    seen(f"worker@{HERE}:1", time, draining=True)
    assert service.health(roles=WORKER, here=True).healthy
    found = service.health(roles=WORKER)
    assert not found.healthy
    assert "draining" in found.why


def test_the_age_is_the_callers_to_choose(db: None, time: Time) -> None:
    """But not below what the processes report by."""
    seen("beat@a:1", time, seconds=100)
    assert service.health(roles=BEAT, max_age=timedelta(seconds=100)).healthy
    assert not service.health(roles=BEAT, max_age=timedelta(seconds=99)).healthy
    with pytest.raises(InvalidValue, match=r"^max_age: 60.0 .*every 60 s \(NODE_SECONDS\)"):
        service.health(roles=BEAT, max_age=timedelta(seconds=60))


def test_an_age_is_within_what_reports_are_kept_for(db: None, time: Time, settings: Settings) -> None:
    """Older ones are taken away: a larger age would be a promise that nobody keeps."""
    with pytest.raises(InvalidValue, match=r"^max_age: 181.0 is not accepted: give at most 180 seconds"):
        service.health(roles=BEAT, max_age=timedelta(seconds=181))
    settings.ROUTINES = settings.ROUTINES | {"NODE_SECONDS": 120.0}
    seen("beat@a:1", time, seconds=350)
    forget_gone(time.now)
    assert service.health(roles=BEAT).healthy, "it reports itself every two minutes, and may miss two reports"
    seen("beat@a:1", time, seconds=361)
    forget_gone(time.now)
    assert not Node.objects.exists()


def test_a_liveness_probe_without_a_file_falls_back_to_the_reports(db: None, time: Time) -> None:
    """`--here --max-age 60`, as the page has it: refusing would be a 1, and a restart each time."""
    seen(f"beat@{HERE}:1", time, seconds=179)
    assert service.health(roles=BEAT, here=True, max_age=timedelta(seconds=60)).healthy
    seen(f"beat@{HERE}:1", time, seconds=181)
    assert not service.health(roles=BEAT, here=True, max_age=timedelta(hours=1)).healthy


def test_the_default_age_follows_the_reports(db: None, time: Time, settings: Settings) -> None:
    settings.ROUTINES = settings.ROUTINES | {"NODE_SECONDS": 10.0}
    seen("beat@a:1", time, seconds=31)
    assert not service.health(roles=BEAT).healthy
    seen("beat@a:1", time, seconds=30)
    assert service.health(roles=BEAT).healthy


def test_it_asks_four_questions(
    make: Callable[..., Routine], time: Time, django_assert_num_queries: Callable[..., CaptureQueriesContext]
) -> None:
    """However many nodes and routines there are."""
    for number in range(5):
        make(f"r{number}", every="1h")
        seen(f"beat@a:{number}", time)
        seen(f"worker@a:{number}", time)
    with django_assert_num_queries(4):
        service.health()


def test_a_database_that_is_away_is_unhealthy_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is raised; a password in the driver's words is masked."""

    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection to postgres://ada:hunter2@db failed\nIs the server running?")

    monkeypatch.setattr(module, "_by_ledger", away)
    found = service.health()
    assert not found.healthy
    assert found.why.startswith("the database could not be asked: connection to postgres://")
    assert "hunter2" not in found.why
    assert "running?" not in found.why


def test_within_so_many_seconds_it_is_another_thread_that_asks(transactional_db: None, time: Time) -> None:
    seen("beat@a:1", time)
    assert service.health(roles=BEAT, seconds=30).healthy


def test_facts_are_stable(db: None, time: Time) -> None:
    """What programs read."""
    seen("beat@a:1", time)
    assert service.health().facts() == {
        "healthy": False,
        "why": "1 beat, seen 0s ago; no worker has reported itself in the last 3m; nothing is overdue",
        "beats": {"alive": 1, "seen_at": time.now},
        "workers": {"alive": 0, "seen_at": None},
        "overdue": 0,
        "overdue_since": None,
    }
