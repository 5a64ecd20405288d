"""The end of a run, by each way: what it leaves on the row, and that whoever has lost the row leaves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.dispatch import Signal

from routines_app import signals
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.end import finish
from routines_app.protocol.record import facts, told
from routines_app.protocol.record.outcome import Outcome, cancelled, succeeded
from tests.integration.protocol.conformance.ending import BROKEN, end, known, make_running, next_attempt
from tests.integration.protocol.conformance.rows import (
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


def hear(**_: Any) -> None:
    """A receiver of a project's own."""


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
        pytest.param({"result": 1}, {}, {"result": None}, id="a result belongs to its end"),
        pytest.param({}, {"result": json.dumps(ODD_TEXT)}, {"result": ODD_TEXT}, id="the result, as it is"),
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
