"""The end of a QUEUE routine's run, by each way: the first in line may go."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.core.words import Reason, RunStatus
from routines_app.protocol.end import finish
from routines_app.protocol.record.outcome import Outcome, cancelled, succeeded
from tests.integration.protocol.conformance.rows import MOMENT, RECENT, SECOND, columns, make_routine, make_run
from tests.integration.protocol.conformance.test_finish_follows import BROKEN, attempt_of, end, waiting

pytestmark = pytest.mark.django_db

MODULES = (finish,)


@pytest.mark.parametrize("outcome", [succeeded(None), BROKEN, cancelled(Reason.CANCELLED)], ids=lambda o: o.status)
@pytest.mark.parametrize(
    ("values", "goes"),
    [
        pytest.param({}, True, id="waits behind it"),
        pytest.param({"reason": "paused"}, False, id="waits for the end of a pause"),
        pytest.param({"reason": "not_yet"}, False, id="waits for its time"),
        pytest.param({"dispatched_at": MOMENT, "admitted_at": MOMENT}, False, id="is in the broker"),
    ],
)
def test_the_end_of_a_chain_lets_the_first_in_line_go(values: dict[str, Any], goes: bool, outcome: Outcome) -> None:
    """QUEUE: it is looked at now; those behind it have time, and other routines have lines of their own."""
    routine = make_routine(concurrency_policy="QUEUE")
    run = make_run(routine, status=RunStatus.RUNNING, fence=1, running_key=routine.pk)
    overlap = {"reason": "overlap", "trigger": "manual"}
    first = waiting(routine, **overlap | values)
    second = waiting(routine, reason="paused", scheduled_for=MOMENT - SECOND)
    others = waiting(make_routine(concurrency_policy="QUEUE"), **overlap)
    before = [columns(each) for each in (first, second, others)]
    end(run, outcome)
    after = [before[0] | ({"publish_after": RECENT} if goes else {}), *before[1:]]
    assert [columns(each) for each in (first, second, others)] == after


def test_of_a_line_only_the_first_is_looked_at() -> None:
    """What a person asked for before the slots, and of a thousand that wait not one more."""
    routine = make_routine(concurrency_policy="QUEUE")
    run = make_run(routine, status=RunStatus.RUNNING, fence=1, running_key=routine.pk)
    slot = waiting(routine, reason="overlap", scheduled_for=MOMENT - SECOND)
    asked = waiting(routine, reason="overlap", trigger="manual", scheduled_for=MOMENT)
    before = [columns(each) for each in (slot, asked)]
    end(run, succeeded(None))
    assert [columns(each) for each in (slot, asked)] == [before[0], before[1] | {"publish_after": RECENT}]


@pytest.mark.parametrize("outcome", [BROKEN, cancelled(Reason.INTERRUPTED)], ids=["failed", "interrupted"])
def test_a_chain_that_goes_on_lets_nobody_in_line_go(outcome: Outcome) -> None:
    """QUEUE: its next attempt comes first."""
    routine = make_routine(concurrency_policy="QUEUE")
    run = make_run(routine, status=RunStatus.RUNNING, fence=1, running_key=routine.pk)
    first = waiting(routine, reason="overlap")
    before = columns(first)
    end(run, outcome, attempt_of())
    assert columns(first) == before
