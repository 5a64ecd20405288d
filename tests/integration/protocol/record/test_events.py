"""Signals, Celery events and log records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from routines_app import receivers, signals
from routines_app.coordination import monitors
from routines_app.core.words import Reason, RunStatus
from routines_app.execution.watchdog import watchdog
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import finish, mark_overdue
from routines_app.protocol.record import events
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import cancelled, failed, succeeded
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.conftest import Execute
from tests.integration.hearing import Heard, hearing, names_of

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


@pytest.fixture
def heard() -> Iterator[Heard]:
    with hearing() as heard:
        yield heard


def begin(name: str = "plain", **policies: Any) -> RunFacts:
    begun = start(ring(routine(name, **policies), send=False).id, "me")
    assert isinstance(begun, Started)
    events.run_started(begun.facts)
    return begun.facts


def test_a_run_tells_its_life_after_each_commit(heard: Heard) -> None:
    """The facts at hand cost no query; what is not at hand is read when it is used."""
    run = begin()
    finish(run, succeeded("1"))
    assert names_of(heard) == ["run_started", "run_succeeded"]
    told = heard[1][1]["run"]
    assert {"result", "error", "progress"} <= told.get_deferred_fields()
    assert (told.id, told.status, told.routine.name) == (run.id, RunStatus.SUCCESS, "plain")
    assert told.result == 1


def test_a_hopeless_chain_tells_that_it_is_exhausted_once(heard: Heard) -> None:
    run = begin(max_attempts=1, park_after=1)
    finish(run, failed(Reason.EXCEPTION, "no"))
    finish(run, failed(Reason.EXCEPTION, "no"))
    names = names_of(heard)
    assert names == ["run_started", "run_failed", "routine_exhausted", "routine_parked"]
    assert heard[1][1]["will_retry"] is False


@pytest.mark.parametrize("eager", [True, False])
def test_a_start_is_told_when_the_run_is_watched(run_it: Execute, eager: bool) -> None:
    """Receivers may take their time: heartbeats and lease are kept up meanwhile. An eager run has no watchdog."""
    watched: list[bool] = []

    def receiver(run: RoutineRun, **_: Any) -> None:
        watched.append(watchdog().find(str(run.id)) is not None)

    signals.run_started.connect(receiver)
    try:
        row = run_it(ring(routine("plain"), send=False).row, eager=eager)
    finally:
        signals.run_started.disconnect(receiver)
    assert watched == [not eager]
    assert row.status == RunStatus.SUCCESS


def test_cancellations_and_expiries_are_told(heard: Heard) -> None:
    finish(begin(), cancelled(Reason.CANCELLED))
    old = timezone.now() - timedelta(hours=1)
    start(ring(routine("late", expires_ms=1000), send=False, scheduled_for=old).id, "me")
    assert [(name, facts.get("reason")) for name, facts in heard[1:]] == [
        ("run_cancelled", "cancelled"),
        ("run_skipped", "expired"),
    ]


def test_a_body_that_does_not_stop_is_told_of_once_it_is_marked(heard: Heard) -> None:
    """Not of a row that is no longer ours."""
    run = begin()
    assert mark_overdue(run)
    assert [(name, facts.get("reason")) for name, facts in heard[1:]] == [("run_overdue", "overdue")]
    told = heard[1][1]["run"]
    assert (told.id, told.status, told.reason) == (run.id, RunStatus.RUNNING, Reason.OVERDUE)
    finish(run, succeeded(None))
    assert not mark_overdue(run)
    assert [name for name, _ in heard[2:]] == ["run_succeeded"]


def test_nothing_is_told_of_what_was_rolled_back(heard: Heard) -> None:
    run = begin()
    with transaction.atomic():
        finish(run, succeeded(None))
        assert len(heard) == 1
        transaction.set_rollback(True)
    assert len(heard) == 1


def test_a_receiver_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(**_: Any) -> None:
        raise ValueError("broken receiver")

    signals.run_succeeded.connect(broken)
    try:
        run = begin()
        finish(run, succeeded(None))
    finally:
        signals.run_succeeded.disconnect(broken)
    assert RoutineRun.objects.get(id=run.id).status == RunStatus.SUCCESS
    assert "broken receiver" in caplog.text


def test_each_event_is_a_structured_log_record(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "routines_app.runs"):
        run = begin()
    [record] = [record for record in caplog.records if record.name == "routines_app.runs"]
    facts = record.__dict__["routine_event"]
    assert facts == {
        "event": "routine-run-started",
        "routine": "plain",
        "routine_id": run.routine_id,
        "run_id": str(run.id),
        "task": run.task,
        "slot": run.scheduled_for.isoformat(),
        "attempt": 1,
        "trigger": "schedule",
        "source": run.source,
        "status": "RUNNING",
        "reason": "",
        "error": "",
    }


def test_monitors_are_told_with_the_error_but_not_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they want events; where they do not, nothing is put down."""
    sent: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(monitors, "tell", lambda kind, facts: sent.append((kind, facts)))
    monkeypatch.setattr(monitors, "wanted", lambda: False)
    finish(begin("silent"), succeeded(None))
    assert sent == []
    monkeypatch.setattr(monitors, "wanted", lambda: True)
    run = begin("asked", max_attempts=1)
    finish(run, failed(Reason.EXCEPTION, "ValueError: password=hunter2 " + "x" * 5_000))
    assert [kind for kind, _ in sent] == ["routine-run-started", "routine-run-failed", "routine-exhausted"]
    for _, facts in sent[1:]:
        assert (facts["uuid"], facts["routine"], facts["reason"]) == (str(run.id), "asked", "exception")
        assert facts["error"].startswith("ValueError: password=")
        assert "hunter2" not in facts["error"]
        assert len(facts["error"]) <= receivers.ERROR_CHARS


def test_the_facts_of_an_end_cost_no_query(heard: Heard, django_assert_num_queries: Any) -> None:
    """Ten thousand of them would cost ten thousand."""
    run = begin(max_attempts=1)
    finish(run, failed(Reason.EXCEPTION, "no"))
    told = heard[1][1]
    with django_assert_num_queries(0):
        facts = receivers.event_facts(told["run"], told["routine"], told["reason"])
    assert (facts["error"], facts["status"], facts["reason"]) == ("no", "FAILED", "exception")
