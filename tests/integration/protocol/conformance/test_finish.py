"""The end of a run, by each way: what is recorded and counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.end import finish
from routines_app.protocol.end.recorded import Recorded
from routines_app.protocol.record.outcome import Outcome, cancelled, succeeded
from tests.integration.protocol.conformance.ending import BROKEN, end, known, make_running, next_attempt
from tests.integration.protocol.conformance.rows import (
    MOMENT,
    RECENT,
    columns,
    make_routine,
    make_run,
    state_columns,
)

pytestmark = pytest.mark.django_db

MODULES = (finish,)

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
        ended=SUCCEEDED | {"result": "done"},
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
        ended=SUCCEEDED | {"result": 1},
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
