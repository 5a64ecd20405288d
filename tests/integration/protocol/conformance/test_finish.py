"""The end of a run, by each way: what the row, the routine's state and the caller are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.dispatch import Signal

from routines_app import signals
from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState, new_run_id
from routines_app.protocol.end import finish
from routines_app.protocol.end.recorded import Recorded
from routines_app.protocol.end.transaction import NextAttempt
from routines_app.protocol.ledger import clock
from routines_app.protocol.record import facts, told
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from tests.integration.protocol.conformance.rows import (
    MOMENT,
    ODD_TEXT,
    RECENT,
    SECOND,
    columns,
    make_routine,
    make_run,
    state_columns,
)

pytestmark = pytest.mark.django_db

MODULES = (finish,)

BROKEN = failed(Reason.EXCEPTION, "ValueError: no", traceback="Traceback …")
INTERRUPTED = cancelled(Reason.INTERRUPTED)
ASKED_TO_STOP = {"stop_requested_at": MOMENT, "stop_reason": "replaced"}
ARCHIVED = {"status": RoutineStatus.ARCHIVED}

SUCCEEDED = {"status": "SUCCESS", "reason": "", "error": "", "traceback": ""}
FAILED = {"status": "FAILED", "reason": "exception", "error": "ValueError: no", "traceback": "Traceback …"}
REPLACED = {"status": "CANCELLED", "reason": "replaced"}
COUNTED = {"last_run_at": RECENT}
COUNTED_AS_SUCCESS = COUNTED | {"last_success_at": RECENT, "failure_count": 0}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two failed chains in a row came before, unless the state says otherwise."""

    outcome: Outcome
    retry: bool = False
    """Whether the caller has decided on a next attempt."""
    routine: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    ended: dict[str, Any]
    """What changes on the row, besides what every end does."""
    counted: dict[str, Any]
    recorded: dict[str, Any]
    retried: bool = False


CASES = {
    "a success ends the row of failures": Case(
        outcome=succeeded('"done"'),
        ended=SUCCEEDED | {"result": '"done"'},
        counted=COUNTED_AS_SUCCESS,
        recorded={"status": RunStatus.SUCCESS, "recovered": True},
    ),
    "a success with a reason": Case(
        outcome=succeeded(None, Reason.IGNORED),
        ended=SUCCEEDED | {"reason": "ignored"},
        counted=COUNTED_AS_SUCCESS,
        recorded={"status": RunStatus.SUCCESS, "reason": "ignored", "recovered": True},
    ),
    "a failure with a next attempt counts for nothing yet": Case(
        outcome=BROKEN,
        retry=True,
        ended=FAILED,
        counted=COUNTED,
        recorded={"status": RunStatus.FAILED, "reason": "exception"},
        retried=True,
    ),
    "a failure without a next attempt is one more in a row": Case(
        outcome=BROKEN,
        ended=FAILED,
        counted=COUNTED | {"failure_count": 3},
        recorded={"status": RunStatus.FAILED, "reason": "exception", "exhausted": True},
    ),
    "a cancellation is neither success nor failure": Case(
        outcome=cancelled(Reason.CANCELLED),
        ended={"status": "CANCELLED", "reason": "cancelled"},
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "cancelled"},
    ),
    "an interrupted run goes on in another": Case(
        outcome=INTERRUPTED,
        retry=True,
        ended={"status": "CANCELLED", "reason": "interrupted"},
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "interrupted"},
        retried=True,
    ),
    "asked to stop, it succeeded all the same": Case(
        outcome=succeeded("1"),
        run=ASKED_TO_STOP,
        ended=SUCCEEDED | {"result": "1"},
        counted=COUNTED_AS_SUCCESS,
        recorded={"status": RunStatus.SUCCESS, "recovered": True},
    ),
    "asked to stop, a failure is a cancellation and has no next attempt": Case(
        outcome=BROKEN,
        retry=True,
        run=ASKED_TO_STOP,
        ended=FAILED | REPLACED,
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "replaced"},
    ),
    "asked to stop, the last failure exhausts nothing": Case(
        outcome=BROKEN,
        run=ASKED_TO_STOP,
        ended=FAILED | REPLACED,
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "replaced"},
    ),
    "asked to stop, an interruption is what was asked for": Case(
        outcome=INTERRUPTED,
        retry=True,
        run=ASKED_TO_STOP,
        ended=REPLACED,
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "replaced"},
    ),
    "asked to stop without a reason": Case(
        outcome=cancelled(Reason.CANCELLED),
        run={"stop_requested_at": MOMENT},
        ended={"status": "CANCELLED", "reason": ""},
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED},
    ),
    "archived, an interrupted run does not go on": Case(
        outcome=INTERRUPTED,
        retry=True,
        routine=ARCHIVED,
        ended={"status": "CANCELLED", "reason": "interrupted"},
        counted=COUNTED,
        recorded={"status": RunStatus.CANCELLED, "reason": "interrupted"},
    ),
    "archived, a failure has no next attempt and exhausts the chain": Case(
        outcome=BROKEN,
        retry=True,
        routine=ARCHIVED,
        ended=FAILED,
        counted=COUNTED | {"failure_count": 3},
        recorded={"status": RunStatus.FAILED, "reason": "exception", "exhausted": True},
    ),
    "archived, a success counts": Case(
        outcome=succeeded(None),
        routine=ARCHIVED,
        ended=SUCCEEDED,
        counted=COUNTED_AS_SUCCESS,
        recorded={"status": RunStatus.SUCCESS, "recovered": True},
    ),
    "paused, the chain goes on later": Case(
        outcome=BROKEN,
        retry=True,
        routine={"status": RoutineStatus.PAUSED},
        ended=FAILED,
        counted=COUNTED,
        recorded={"status": RunStatus.FAILED, "reason": "exception"},
        retried=True,
    ),
    "parked, the chain goes on later": Case(
        outcome=BROKEN,
        retry=True,
        routine={"status": RoutineStatus.PARKED},
        ended=FAILED,
        counted=COUNTED,
        recorded={"status": RunStatus.FAILED, "reason": "exception"},
        retried=True,
    ),
    "exclusive, the running key is given up and the fence stays": Case(
        outcome=succeeded(None),
        routine={"concurrency_policy": "FORBID"},
        run={"fence": 7},
        ended=SUCCEEDED,
        counted=COUNTED_AS_SUCCESS,
        recorded={"status": RunStatus.SUCCESS, "recovered": True},
    ),
}


def hear(**_: Any) -> None:
    """A receiver of a project's own."""


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


@pytest.mark.parametrize("failures_known", [True, False], ids=["known at the start", "not known at the start"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_end_is_recorded_and_counted(case: Case, failures_known: bool) -> None:
    """The two failures may have come while the run was running: its worker does not know of them."""
    routine = make_routine({"last_success_at": MOMENT, "failure_count": 2 * failures_known}, **case.routine)
    run = make_running(routine, **case.run)
    at_start = known(run)
    RoutineState.objects.filter(pk=routine.pk).update(failure_count=2)
    attempt = next_attempt(run) if case.retry else None
    before, state = columns(run), state_columns(routine)

    recorded = end(at_start, case.outcome, attempt)

    retry_id = attempt.id if attempt and case.retried else None
    assert recorded == Recorded(**{"reason": "", "retry_id": retry_id} | case.recorded)
    ended = {"completed_at": RECENT, "running_key": None, "publish_after": None}
    assert columns(run) == before | ended | case.ended
    assert state_columns(routine) == state | case.counted
    assert set(RoutineRun.objects.values_list("id", flat=True)) == {run.id} | ({retry_id} - {None})


def test_a_next_attempt_that_is_there_already_goes_on_with_the_chain() -> None:
    """Whoever made it: the chain is not exhausted, and what is told of is that row."""
    routine = make_routine({"failure_count": 2})
    run = make_running(routine)
    attempt = next_attempt(run)
    there = make_run(routine, idempotency_key=attempt.key)
    recorded = end(known(run), BROKEN, attempt)
    assert recorded == Recorded(status=RunStatus.FAILED, reason="exception", retry_id=there.id)
    assert state_columns(routine)["failure_count"] == 2
    assert RoutineRun.objects.count() == 2


@pytest.mark.parametrize("outcome", [succeeded("1"), BROKEN, cancelled(Reason.CANCELLED)], ids=lambda o: o.status)
@pytest.mark.parametrize("ours", [True, False], ids=["by its own process", "by somebody else"])
def test_an_end_says_whether_its_own_process_wrote_it(outcome: Outcome, ours: bool) -> None:
    """The token stays, or goes: who asks again without having heard an answer can tell."""
    token = new_run_id()
    run = make_running(make_routine(), start_token=token)
    executing = facts.load(run.id, token if ours else None)
    assert executing is not None
    assert end(executing, outcome) is not None
    assert columns(run)["start_token"] == (token if ours else None)


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize(
    ("outcome", "signal"),
    [
        (succeeded("1"), signals.run_succeeded),
        (BROKEN, signals.run_failed),
        (BROKEN, signals.routine_exhausted),
        (BROKEN, signals.run_cancelled),
        (cancelled(Reason.CANCELLED), signals.run_cancelled),
    ],
)
def test_an_end_that_somebody_waits_for_says_until_when_it_should_be_told(
    outcome: Outcome, signal: Signal, retry: bool
) -> None:
    """And one that nobody waits for costs nothing more."""
    unheard, heard = (make_running(make_routine()) for _ in range(2))
    attempts = [next_attempt(run) if retry and outcome is BROKEN else None for run in (unheard, heard)]
    end(known(unheard), outcome, attempts[0])
    signal.connect(hear)
    try:
        end(known(heard), outcome, attempts[1])
    finally:
        signal.disconnect(hear)
    assert columns(unheard)["tell_after"] is None
    tell_after = columns(heard)["tell_after"]
    assert tell_after is not None
    assert tell_after - told.TELL_SECONDS * SECOND == RECENT


@pytest.mark.parametrize("outcome", [succeeded("1"), BROKEN, cancelled(Reason.CANCELLED)], ids=lambda o: o.status)
@pytest.mark.parametrize(
    ("row", "known_fence"),
    [
        *(pytest.param({"status": status}, None, id=status) for status in RunStatus if status != RunStatus.RUNNING),
        pytest.param({"status": "RUNNING", "fence": 4}, 3, id="a later start has raised the fence"),
        pytest.param({"status": "RUNNING", "fence": 4}, None, id="began with a fence that we do not have"),
        pytest.param({"status": "RUNNING", "fence": None}, 3, id="began without the fence that we have"),
    ],
)
def test_who_has_lost_the_row_changes_nothing(row: dict[str, Any], known_fence: int | None, outcome: Outcome) -> None:
    """Neither the row nor the state, and there is no next attempt."""
    routine = make_routine()
    run = make_running(routine, fence=known_fence)
    ours = known(run)
    RoutineRun.objects.filter(id=run.id).delete()
    run = make_run(routine, id=run.id, **row)
    before, state = columns(run), state_columns(routine)
    assert end(ours, outcome, next_attempt(run) if outcome is BROKEN else None) is None
    assert columns(run) == before
    assert state_columns(routine) == state
    assert RoutineRun.objects.count() == 1


@pytest.mark.parametrize("ending", [succeeded(None), BROKEN, cancelled(Reason.CANCELLED)], ids=lambda o: o.status)
@pytest.mark.parametrize(
    ("row", "told", "kept"),
    [
        pytest.param({"progress": {"done": 1}}, {}, {"progress": {"done": 1}}, id="progress stays"),
        pytest.param({}, {"progress": {"a": [ODD_TEXT]}}, {"progress": {"a": [ODD_TEXT]}}, id="the last progress"),
        pytest.param({"progress": {"a": 1}}, {"progress": {}}, {"progress": {}}, id="progress that is empty now"),
        pytest.param({"error": "ann: enough"}, {}, {"error": "ann: enough"}, id="what the canceller said stays"),
        pytest.param({"error": "old"}, {"error": ODD_TEXT}, {"error": ODD_TEXT}, id="a new error takes its place"),
        pytest.param({"traceback": "old"}, {}, {"traceback": ""}, id="a traceback belongs to its end"),
        pytest.param({}, {"traceback": ODD_TEXT}, {"traceback": ODD_TEXT}, id="the traceback"),
        pytest.param({"result": "1"}, {}, {"result": None}, id="a result belongs to its end"),
        pytest.param({}, {"result": f'"{ODD_TEXT}"'}, {"result": f'"{ODD_TEXT}"'}, id="the result, as it is"),
    ],
)
def test_texts_and_progress_of_an_end(
    ending: Outcome, row: dict[str, Any], told: dict[str, Any], kept: dict[str, Any]
) -> None:
    """What is told is written, whatever the end; progress and the error stay where nothing is told."""
    run = make_running(make_routine(), **row)
    end(known(run), Outcome(status=ending.status, reason=ending.reason, **told))
    found = columns(run)
    assert {field: found[field] for field in kept} == kept
    assert found["status"] == ending.status
