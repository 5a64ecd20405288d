"""run_due: what is due runs here, and the ledger says what it would say in production."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery.app import app_or_default

from routines_app import current_run, service
from routines_app.core.errors import NotAllowed
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock as ledger_clock
from routines_app.testing import FrozenClock, frozen_clock, run_due, run_until, running
from tests.integration.testing import tasks
from tests.integration.testing.conftest import NIGHT, THREE, Make

HERE = tasks.__name__


def test_what_is_due_runs_and_nothing_else(nightly: Make, clock: FrozenClock) -> None:
    nightly()
    assert run_due() == []

    clock.move(minutes=1)
    (run,) = run_due()

    assert (run.status, run.result, run.scheduled_for, run.routine.name) == ("SUCCESS", "hello", THREE, "nightly")
    assert tasks.seen == ["hello"]
    assert run_due() == []


def test_the_rows_have_the_time_of_the_clock(nightly: Make, clock: FrozenClock) -> None:
    """Also on PostgreSQL, whose statements write its own; and in ids, which rows give themselves."""
    routine = nightly()
    (run,) = run_due(THREE)

    assert {run.started_at, run.completed_at, run.admitted_at} == {THREE}
    assert service.run_created_at(run.pk) == THREE
    routine.refresh_from_db()
    assert routine.created_at == datetime.fromisoformat(NIGHT)
    assert (routine.state.last_run_at, routine.state.last_success_at) == (THREE, THREE)


@pytest.fixture
def eager() -> Iterator[None]:
    app_or_default().conf.task_always_eager = True
    yield
    app_or_default().conf.task_always_eager = False


@pytest.mark.usefixtures("eager")
def test_eager_projects_wait_too(nightly: Make) -> None:
    """`task_always_eager` would run it at once; inside a clock `run_due` does, in each kind of test."""
    nightly()
    service.run_now("nightly")
    assert tasks.seen == []

    run_due()
    assert tasks.seen == ["hello"]


def test_a_project_without_a_broker_may_ask(nightly: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_or_default().conf, "broker_url", None)
    nightly()
    service.run_now("nightly", args=["by hand"])

    run_due()
    assert tasks.seen == ["by hand"]


def test_an_unknown_task_ends_as_in_production(nightly: Make) -> None:
    routine = nightly()
    type(routine).objects.filter(pk=routine.pk).update(task="nobody.knows")

    (run,) = run_due(THREE)

    assert (run.status, run.reason) == ("FAILED", "unknown_task")


def test_a_retry_is_due_at_its_own_time(nightly: Make, clock: FrozenClock) -> None:
    nightly("fails", max_attempts=3, retry_delay_ms="10m", retry_jitter=0)

    (first,) = run_due(THREE)
    clock.move(minutes=9)
    assert run_due() == []
    clock.move(minutes=1)
    (second,) = run_due()

    assert (first.status, first.reason, first.attempt) == ("FAILED", "exception", 1)
    assert (second.status, second.attempt, second.retry_of_id) == ("SUCCESS", 2, first.pk)


def test_a_task_may_retry_itself(nightly: Make, clock: FrozenClock) -> None:
    nightly("retries_itself")

    assert [run.attempt for run in run_due(THREE)] == [1]
    assert [(run.attempt, run.result) for run in run_due(THREE + timedelta(minutes=1))] == [(2, "retries 1")]


def test_missed_slots_are_caught_up_oldest_first(nightly: Make, clock: FrozenClock) -> None:
    """Each is let go by the end of the one before it, at the same instant."""
    nightly(catch_up_policy="ALL")
    clock.move(days=3)

    ran = run_due()

    assert [run.scheduled_for for run in ran] == [THREE + timedelta(days=day) for day in range(3)]


def test_a_pool_lets_the_important_ones_go_first(nightly: Make) -> None:
    service.create_pool("db", max_concurrent=1)
    for priority in ("LOW", "HIGH", "MEDIUM"):
        nightly(name=priority, priority=priority, pool="db")

    assert [run.routine.name for run in run_due(THREE)] == ["HIGH", "MEDIUM", "LOW"]


def test_a_tick_runs_what_it_picks(nightly: Make, clock: FrozenClock) -> None:
    service.create_rotation("shops", task=f"{HERE}.say", every="10m", budget=2)
    service.add_members("shops", [{"name": name, "args": [name]} for name in ("a", "b", "c")])

    clock.move(minutes=10)
    assert len(run_due()) == 2
    clock.move(minutes=10)
    assert len(run_due()) == 1
    assert sorted(tasks.seen) == ["a", "b", "c"]
    assert service.rotation_status("shops").fresh == 3


def test_a_tick_that_seeds_picks_of_what_is_new(nightly: Make, clock: FrozenClock) -> None:
    service.create_rotation("shops", task=f"{HERE}.say", every="10m", budget=2, seed=f"{HERE}.seed")

    clock.move(minutes=10)
    run_due()

    assert sorted(tasks.seen) == ["x", "y"]


def test_the_body_knows_its_run(nightly: Make, clock: FrozenClock) -> None:
    nightly("busy")
    told: list[object] = []

    def tell() -> None:
        run = current_run()
        assert run is not None
        told.extend([run.routine, run.slot, run.attempt])
        run.log("a line")

    tasks.meanwhile.append(tell)
    (run,) = run_due(THREE)

    assert told == ["nightly", THREE, 1]
    assert [line.line for line in run.log_lines.all()] == ["a line"]


def test_time_may_pass_in_a_body(nightly: Make, clock: FrozenClock) -> None:
    """A slot that comes while it runs overlaps it."""
    nightly("busy", concurrency_policy="FORBID", every="10m")
    tasks.meanwhile.append(lambda: run_until(clock.now() + timedelta(minutes=25)))

    (run,) = run_until(THREE + timedelta(minutes=15))

    assert run.completed_at - run.started_at == timedelta(minutes=25)
    assert [skipped.reason for skipped in RoutineRun.objects.filter(status="SKIPPED")] == ["overlap"] * 2


def test_a_run_is_returned_by_the_call_that_started_it(nightly: Make) -> None:
    """Here a body's, which finds what the call around it is about to run."""
    for name in ("a", "b", "c"):
        nightly("busy", name=name)
    inner: list[RoutineRun] = []
    tasks.meanwhile.append(lambda: inner.extend(run_due()))

    outer = run_due(THREE)

    assert (len(outer), len(inner)) == (1, 2)
    assert sorted(run.routine.name for run in [*outer, *inner]) == ["a", "b", "c"]


def test_a_run_that_somebody_else_ends_was_started_all_the_same(nightly: Make) -> None:
    def abandon() -> None:
        run = current_run()
        assert run is not None
        service.abandon_run(run.id)

    nightly("busy")
    tasks.meanwhile.append(abandon)

    assert len(run_due(THREE)) == 1


def test_runs_that_are_held_do_not_hide_those_behind_them(nightly: Make, settings: Any) -> None:
    """More than a batch of them, which come first."""
    settings.ROUTINES = settings.ROUTINES | {"CLAIM_BATCH": 2}
    with ExitStack() as held:
        for number in range(5):
            nightly(name=f"held {number}", concurrency_policy="QUEUE")
            held.enter_context(running(f"held {number}"))
        run_due(THREE)
        nightly(name="retried", task="fails", cron="1 3 * * *", max_attempts=2, retry_delay_ms="10m", retry_jitter=0)
        run_due(THREE + timedelta(minutes=1))

        (run,) = run_due(THREE + timedelta(minutes=11))

    assert (run.routine.name, run.attempt) == ("retried", 2)


def test_without_a_clock_time_stands_still_for_the_call(db: None) -> None:
    real = ledger_clock._clock
    with frozen_clock(NIGHT):
        service.create_routine("nightly", task=f"{HERE}.say", cron="0 3 * * *", timezone="UTC")

    (run,) = run_due(THREE)

    assert run.completed_at == THREE
    assert ledger_clock._clock is real
    assert run_due() == []
    missed = RoutineRun.objects.get(status="SKIPPED")
    assert missed.completed_at > THREE + timedelta(days=30), "the present is the ledger's"


def test_more_than_allowed_is_refused(nightly: Make) -> None:
    for number in range(3):
        nightly(name=f"nightly {number}")

    with pytest.raises(NotAllowed, match="more runs than that are due at 2026-03-02T03:00"):
        run_due(THREE, most=2)
    assert len(run_due(THREE)) == 1, "the rest is not lost"
