"""Runs that are about to end, and their end, by the way that is judged."""

from __future__ import annotations

from typing import Any

from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun, new_run_id
from routines_app.protocol.end import finish
from routines_app.protocol.end.recorded import Recorded
from routines_app.protocol.end.transaction import NextAttempt
from routines_app.protocol.ledger import clock
from routines_app.protocol.record import facts
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome, failed
from tests.integration.protocol.conformance.rows import MOMENT, make_run

BROKEN = failed(Reason.EXCEPTION, "ValueError: no", traceback="Traceback …")


def make_running(routine: Routine, **values: Any) -> RoutineRun:
    key = routine.pk if values.get("fence") else None
    return make_run(routine, status=RunStatus.RUNNING, running_key=key, publish_after=MOMENT, **values)


def known(run: RoutineRun) -> RunFacts:
    found = facts.load(run.id)
    assert found is not None
    return found


def end(run: RunFacts, outcome: Outcome, attempt: NextAttempt | None = None) -> Recorded | None:
    return finish._end(run, outcome, attempt, clock.now())


def next_attempt(run: RoutineRun) -> NextAttempt:
    return NextAttempt(id=new_run_id(), at=MOMENT, budget_used=2, key=f"{run.idempotency_key}:next")
