"""What waits for a commit is done, with real commits and in a test that never commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.db import Error, connections, transaction
from django_celery_results.models import TaskResult

from routines_app import service, signals
from routines_app.models import RoutineRun
from routines_app.testing import FrozenClock, run_due
from tests.integration.testing import tasks
from tests.integration.testing.conftest import THREE, Make

HERE = tasks.__name__


def test_signals_and_results_come_without_a_commit(nightly: Make, clock: FrozenClock) -> None:
    nightly(keep_result=True)
    told: list[str] = []

    def hear(run: RoutineRun, **_: object) -> None:
        told.append(run.status)

    signals.run_started.connect(hear)
    signals.run_succeeded.connect(hear)
    try:
        (run,) = run_due(THREE)
    finally:
        signals.run_started.disconnect(hear)
        signals.run_succeeded.disconnect(hear)

    assert told == ["RUNNING", "SUCCESS"]
    assert TaskResult.objects.get(task_id=run.pk).status == "SUCCESS"
    assert run.tell_after is None


def test_what_a_body_leaves_for_the_commit_is_done(nightly: Make, clock: FrozenClock) -> None:
    nightly("leaves_something")
    run_due(THREE)
    assert tasks.seen == ["committed"]


@pytest.mark.usefixtures("transactional_db")
def test_in_a_transaction_of_the_callers_own_it_waits_for_that(clock: FrozenClock) -> None:
    service.create_routine("nightly", task=f"{HERE}.leaves_something", cron="0 3 * * *", timezone="UTC")
    with transaction.atomic():
        run_due(THREE)
        assert tasks.seen == []
    assert tasks.seen == ["committed"]


def test_also_where_the_test_has_one_around_it(db: None, clock: FrozenClock) -> None:
    service.create_routine("nightly", task=f"{HERE}.leaves_something", cron="0 3 * * *", timezone="UTC")
    with transaction.atomic():
        assert len(run_due(THREE)) == 1
    assert tasks.seen == []


def test_a_body_that_spoils_the_tests_transaction_is_told_of(db: None, clock: FrozenClock) -> None:
    service.create_routine("nightly", task=f"{HERE}.breaks_a_rule", cron="0 3 * * *", timezone="UTC")
    with transaction.atomic(), pytest.raises(Error) as caught:
        run_due(THREE)
    assert any("TransactionTestCase" in note for note in caught.value.__notes__)


@pytest.mark.usefixtures("transactional_db")
def test_with_real_commits_a_database_error_is_its_own_bodys(clock: FrozenClock) -> None:
    service.create_routine("nightly", task=f"{HERE}.breaks_a_rule", cron="0 3 * * *", timezone="UTC")
    assert [(run.status, run.reason) for run in run_due(THREE)] == [("FAILED", "exception")]
    assert Group.objects.count() == 1


def test_what_fails_at_the_commit_is_its_own_bodys_failure(nightly: Make) -> None:
    """With its retry, as in production; and the other runs go on."""
    nightly("fails_at_the_commit", name="a", max_attempts=2, retry_delay_ms="10m", retry_jitter=0)
    nightly(name="b")

    ran = {run.routine.name: run for run in run_due(THREE)}

    assert (ran["a"].status, ran["a"].reason) == ("FAILED", "exception")
    assert "ZeroDivisionError" in ran["a"].error
    assert RoutineRun.objects.filter(retry_of=ran["a"], status="PENDING").count() == 1
    assert ran["b"].status == "SUCCESS"
    assert tasks.seen == ["hello"], "what comes after it is not done"


def test_what_a_receiver_leaves_for_the_commit_stops_nobody(nightly: Make) -> None:
    nightly(name="a")
    nightly(name="b")

    def leave(**_: object) -> None:
        transaction.on_commit(lambda: 1 / 0)

    signals.run_succeeded.connect(leave)
    try:
        ran = run_due(THREE)
    finally:
        signals.run_succeeded.disconnect(leave)

    assert [run.status for run in ran] == ["SUCCESS", "SUCCESS"]


def test_a_body_that_raises_has_left_what_it_left(nightly: Make) -> None:
    nightly("busy")
    tasks.meanwhile.append(lambda: transaction.on_commit(lambda: tasks.seen.append("left")))
    tasks.meanwhile.append(lambda: 1 / 0)

    (run,) = run_due(THREE)

    assert (run.status, tasks.seen) == ("FAILED", ["left"])


def test_what_a_body_has_rolled_back_is_not_done(nightly: Make) -> None:
    def roll_back() -> None:
        with transaction.atomic():
            transaction.on_commit(lambda: tasks.seen.append("left"))
            transaction.set_rollback(True)

    nightly("busy")
    tasks.meanwhile.append(roll_back)

    assert [run.status for run in run_due(THREE)] == ["SUCCESS"]
    assert tasks.seen == []


@pytest.fixture
def second(nightly: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Another database, in a transaction like that of a TestCase."""
    entry = connections.settings["default"] | {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(tmp_path / "second"),  # in a file: Django closes no connection to a database in memory
        "OPTIONS": {},
    }
    monkeypatch.setitem(connections.settings, "second", entry)
    connections["second"].connect()
    block = transaction.atomic(using="second")
    block._from_testcase = True  # type: ignore[attr-defined]
    with block:
        yield "second"
    connections["second"].close()
    del connections["second"]


def test_each_database_of_the_test_is_looked_after(nightly: Make, second: str) -> None:
    nightly("busy")
    tasks.meanwhile.append(lambda: transaction.on_commit(lambda: tasks.seen.append("committed"), using=second))

    run_due(THREE)

    assert tasks.seen == ["committed"]


def test_what_the_test_itself_has_left_is_not_touched(nightly: Make, second: str) -> None:
    nightly()
    transaction.on_commit(lambda: tasks.seen.append("the test's"), using=second)

    run_due(THREE)

    assert tasks.seen == ["hello"]
