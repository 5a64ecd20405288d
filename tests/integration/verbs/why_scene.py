"""A night whose time the tests set: ids of runs, rows, history and reports all tell the same one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.models import Role, Routine, RoutineRun, ledger_time
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import stamp
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record.outcome import succeeded
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep import lifetimes
from routines_app.protocol.upkeep.nodes import NodeReport, forget_node, report_node
from routines_app.service import Because
from tests.integration.conftest import NOTE
from tests.sayings import unsayable

BEAT = NodeReport(role=Role.BEAT, pid=1)
WORKER = NodeReport(role=Role.WORKER, queues=["celery"], pid=2)


def why(night: Night, routine: Routine, at: str = "03:00") -> service.Why:
    answer = service.why(routine, night.at(at))
    assert str(answer) == " ".join(sentence.text for sentence in answer.sentences)
    assert [words for sentence in answer.sentences for words in unsayable(sentence.text)] == []
    return answer


def said(answer: service.Why, code: Because) -> str:
    return next(sentence.text for sentence in answer.sentences if sentence.code is code)


class Night:
    """It begins at half past two, in UTC."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 17, 2, 30, tzinfo=UTC)

    def at(self, clock_time: str) -> datetime:
        return datetime.fromisoformat(f"2026-11-17T{clock_time}+00:00")

    def until(self, clock_time: str) -> None:
        self.now = self.at(clock_time)

    def pass_by(self, **length: float) -> None:
        self.now += timedelta(**length)

    def make(self, name: str = "report", **values: Any) -> Routine:
        return service.create_routine(name, **({"task": NOTE, "cron": "0 3 * * *"} | values))

    def claim(self) -> None:
        """A beat looks, and sends what may go."""
        sent = [*claim_due(self.now).messages, *dispatch_waiting(self.now)]
        stamp([message.run_id for message in sent], self.now)

    def begin(self, run: RoutineRun) -> None:
        assert isinstance(start(run.pk, "worker@one", lease=False), Started)
        RoutineRun.objects.filter(pk=run.pk).update(started_at=self.now)  # the database has a clock of its own

    def finish(self, run: RoutineRun) -> None:
        close_run(run.pk, succeeded(None))
        RoutineRun.objects.filter(pk=run.pk).update(completed_at=self.now)

    def run(self) -> RoutineRun:
        return RoutineRun.objects.latest("pk")

    def reports(self, report: NodeReport = BEAT, until: str = "") -> None:
        """It reports itself now, and each minute until then."""
        report_node(report)
        while until and self.now < self.at(until):
            self.pass_by(minutes=1)
            report_node(report)

    def leaves(self, report: NodeReport) -> None:
        forget_node(report)


@pytest.fixture
def night(ledger: None, monkeypatch: pytest.MonkeyPatch) -> Night:
    night = Night()
    monkeypatch.setattr(clock, "now", lambda: night.now)
    monkeypatch.setattr(lifetimes, "_own", {})
    monkeypatch.setattr(ledger_time, "_source", lambda: night.now)
    return night
