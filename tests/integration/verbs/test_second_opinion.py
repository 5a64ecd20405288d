"""croniter's second opinion: told where schedules are saved, imported and checked, and harmless whatever it does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import croniter
import pytest
import redis
from celery import Celery
from celery.schedules import crontab
from django.core.checks import run_checks
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.beat.declared import Declarations
from routines_app.core import cron_differences
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.verbs import second_opinion

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
NOW = datetime(2026, 11, 17, 10, 0, 30, tzinfo=UTC)
NARROWING = "0 0 */2 * MON"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an answer takes its time; and none is remembered from another test."""
    monkeypatch.setattr(second_opinion, "PATIENCE_SECONDS", 30)
    monkeypatch.setattr(second_opinion, "_answers", {})


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == second_opinion.__name__]


def test_a_disagreement_has_both_lists_and_the_reason() -> None:
    """Days that match either, by croniter; Mondays on odd days, by crontab(5)."""
    found = service.second_opinion(NARROWING, NOW)
    assert found is not None
    assert found.reason == cron_differences.NARROWS
    assert [f"{fire:%m-%d}" for fire in found.ours] == ["11-23", "12-07", "12-21", "01-11"]
    assert [f"{fire:%m-%d}" for fire in found.theirs] == ["11-19", "11-21", "11-23", "11-25"]
    assert "fires at 2026-11-23 00:00, 2026-12-07 00:00" in str(found)
    assert "by croniter at 2026-11-19 00:00, 2026-11-21 00:00" in str(found)


def test_the_lists_begin_where_they_differ() -> None:
    """The 1st to the 3rd are the same for both; then one goes on with every third month."""
    found = service.second_opinion("0 0 1-3 12-12 *", NOW)
    assert found is not None
    assert (f"{found.ours[0]:%Y-%m-%d}", f"{found.theirs[0]:%Y-%m-%d}") == ("2027-12-01", "2027-01-01")


@pytest.mark.parametrize(
    "expression",
    [
        "0 9 * * 1-5",
        "@daily",
        " @Hourly ",
        "*/20 5 1,2 * * *",
        "22-4 * * * *",
        "0 9 15W * ?",
        "0 0 29 2 *",
        "0 0 13 * FRI",
    ],
)
def test_where_both_agree_there_is_nothing_to_tell(expression: str) -> None:
    """Seconds come first for croniter too, and names mean the same."""
    assert service.second_opinion(expression, NOW) is None
    assert len(second_opinion._ask(expression, NOW.replace(second=0))) >= 2


@pytest.mark.parametrize("expression", ["0 0 L-3 * *", "0 0 LW * *", "0 0 * * 5L", "nonsense", "H * * * *"])
def test_what_one_of_them_cannot_read_has_no_second_opinion(expression: str) -> None:
    """Nor is that anybody's error."""
    assert service.second_opinion(expression, NOW) is None


@pytest.mark.parametrize(
    "error", [ValueError, RecursionError, MemoryError, AssertionError, SystemExit, KeyboardInterrupt]
)
def test_whatever_croniter_raises_is_no_opinion(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A routine is created all the same, with the fire that is ours."""

    def broken(*_: Any, **__: Any) -> NoReturn:
        raise error("broken")

    monkeypatch.setattr(croniter, "croniter", broken)
    routine = service.create_routine("odd", task=TASK, cron=NARROWING)
    assert routine.state.next_slot == service.next_slot(service.stored_trigger(routine), clock.now())
    assert told(caplog) == []


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A croniter that answers nothing before the test is over, and what it was asked."""
    asked: list[str] = []
    over = threading.Event()

    def waits(expression: str, *_: Any, **__: Any) -> None:
        asked.append(expression)
        over.wait(60)

    monkeypatch.setattr(croniter, "croniter", waits)
    monkeypatch.setattr(second_opinion, "PATIENCE_SECONDS", 0.05)
    yield asked
    over.set()
    for thread in second_opinion._overdue:
        thread.join(30)


def test_a_croniter_that_hangs_holds_nobody_up(stuck: list[str]) -> None:
    """It is asked once; while that answer is overdue nobody asks, or waits, again."""
    began = clock.now()
    for name in ("one", "two", "three"):
        service.create_routine(name, task=TASK, cron=f"{len(name)} 0 */2 * MON")
    assert Routine.objects.count() == 3
    assert stuck == ["3 0 */2 * MON"]
    assert clock.now() - began < timedelta(seconds=30)


def test_without_another_thread_there_is_no_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process at its limit, or on its way out."""

    def refused(_: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert service.second_opinion(NARROWING, NOW) is None


def test_answers_are_remembered_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand routines with one cron ask once."""
    asked: list[str] = []
    real = croniter.croniter
    monkeypatch.setattr(
        croniter, "croniter", lambda text, *args, **more: asked.append(text) or real(text, *args, **more)
    )
    monkeypatch.setattr(second_opinion, "MOST_ANSWERS", 2)
    for expression in (NARROWING, NARROWING, "0 0 * * *", "1 0 * * *", NARROWING):
        service.second_opinion(expression, NOW)
    assert asked == [NARROWING, "0 0 * * *", "1 0 * * *", NARROWING]
    assert len(second_opinion._answers) <= 2


def test_saving_a_schedule_logs_the_disagreement(caplog: pytest.LogCaptureFixture) -> None:
    """When it is created and when its trigger is edited, not at any other edit, and not without a cron."""
    routine = service.create_routine("report", task=TASK, cron=NARROWING)
    (message,) = told(caplog)
    assert message.startswith(f"routine report: croniter reads {NARROWING!r} otherwise: {cron_differences.NARROWS}.")

    caplog.clear()
    service.update_routine(routine, description="every other Monday, more or less")
    service.update_routine(routine, cron="0 0 * * MON")
    service.update_routine(routine, every="1h")
    service.create_routine("by hand", task=TASK)
    assert told(caplog) == []

    service.update_routine(routine, cron="0 9-9 * * *")
    assert len(told(caplog)) == 1


def test_what_is_rolled_back_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was saved."""
    with transaction.atomic():
        service.create_routine("report", task=TASK, cron=NARROWING)
        transaction.set_rollback(True)
    assert told(caplog) == []


def test_an_import_tells_it_once(redis_client: redis.Redis, caplog: pytest.LogCaptureFixture) -> None:
    """The first beat that imports the entry says so; those that find it imported have nothing to add."""
    app = Celery("declaring", set_as_current=False)
    app.conf.beat_schedule = {"report": {"task": TASK, "schedule": crontab(minute="0", hour="9-9")}}
    now = clock.now()
    for hours in range(3):
        Declarations(app).sync(now + timedelta(hours=hours))
    (message,) = told(caplog)
    assert "routine report: croniter reads '0 9-9 * * *' otherwise" in message


def test_the_check_of_databases_names_stored_crons_that_croniter_reads_otherwise() -> None:
    """Each expression once; archived routines and corrupt rows are not its business."""
    for name in ("b", "a", "c"):
        service.create_routine(name, task=TASK, cron=NARROWING)
    service.create_routine("agreed", task=TASK, cron="0 9 * * 1-5")
    service.archive_routine(service.create_routine("gone", task=TASK, cron="0 9-9 * * *"))
    service.create_routine("corrupt", task=TASK, cron="0 8 * * *")
    Routine.objects.filter(name="corrupt").update(cron="0 99 * * *")
    (message,) = [found for found in run_checks(databases=["default"]) if found.id == "routines.W017"]
    assert message.msg.startswith(f"Routine a and 2 more: croniter reads {NARROWING!r} otherwise")
    assert "docs/cron.md" in message.hint


def test_the_check_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many crons are stored."""
    service.create_routine("report", task=TASK, cron=NARROWING)
    monkeypatch.setattr(second_opinion, "CHECK_SECONDS", -1)
    assert service.disagreements() == []


def test_checks_ask_no_database_unless_told_to() -> None:
    """`manage.py check` stays a matter of settings."""
    service.create_routine("report", task=TASK, cron=NARROWING)
    with CaptureQueriesContext(connection) as asked:
        assert [found for found in run_checks() if found.id == "routines.W017"] == []
    assert len(asked) == 0


def test_before_the_tables_are_there_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`migrate` runs the checks of databases first."""
    monkeypatch.setattr(Routine._meta, "db_table", "routines_not_there_yet")
    assert [found for found in run_checks(databases=["default"]) if found.id == "routines.W017"] == []


def test_the_log_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Django's default configuration shows it."""
    service.create_routine("report", task=TASK, cron=NARROWING)
    assert [record.levelno for record in caplog.records if record.name == second_opinion.__name__] == [logging.WARNING]
