"""The end of a run, by each way: what a failure or a success makes of an interval that is hinted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from routines_app.core.words import Reason, RunStatus, Source
from routines_app.protocol.end import finish
from routines_app.protocol.ledger import clock
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, failed, succeeded
from tests.integration.protocol.conformance.rows import make_routine, make_run, state_columns

pytestmark = pytest.mark.django_db

MODULES = (finish,)

HOUR = timedelta(hours=1)
FAILURE = failed(Reason.EXCEPTION, "ValueError: no")
SLOWER: dict[str, dict[str, Any]] = {
    "interval": {"hint_interval_ms": 30 * 3_600_000, "hint_interval_expires_at": 48 * HOUR},
    "factor": {"hint_factor": 30.0, "hint_factor_expires_at": 48 * HOUR},
}


def ended(outcome: Outcome, *, failures: int, planned: timedelta, source: Source, hint: dict[str, Any]) -> Any:
    """The state of an hourly routine afterwards, as hours after its last slot."""
    anchor = datetime.now(UTC).replace(microsecond=0)
    hint = {column: anchor + value if isinstance(value, timedelta) else value for column, value in hint.items()}
    plan = {"next_slot": anchor + planned, "next_run_at": anchor + planned, "slot_source": source}
    routine = make_routine(
        {"last_slot": anchor, "grid_from": anchor, "next_source": source, "failure_count": failures} | plan | hint,
        trigger_kind="INTERVAL",
        interval_ms=3_600_000,
    )
    run = make_run(routine, status=RunStatus.RUNNING)
    at_start = facts.load(run.id)
    assert at_start is not None
    assert finish._end(at_start, outcome, None, clock.now()) is not None
    state = state_columns(routine)
    assert state["next_run_at"] == state["next_slot"]
    assert state["next_source"] == state["slot_source"]
    return (state["next_slot"] - anchor) / HOUR, state["slot_source"]


@pytest.mark.parametrize("hint", SLOWER.values(), ids=SLOWER.keys())
@pytest.mark.parametrize(
    ("outcome", "failures", "planned", "hours"),
    [
        pytest.param(FAILURE, 0, HOUR, 2, id="a failure backs off"),
        pytest.param(succeeded(None), 2, 4 * HOUR, 1, id="a success recovers"),
        pytest.param(succeeded(None), 0, HOUR, 1, id="a success changes nothing"),
    ],
)
def test_a_slower_hint_waits_for_the_slot_after_the_planned_one(
    outcome: Outcome, failures: int, planned: timedelta, hours: int, hint: dict[str, Any]
) -> None:
    """The planned one is from before the hint: failing or recovering moves it as if there were none."""
    found = ended(outcome, failures=failures, planned=planned, source=Source.BASELINE_INTERVAL, hint=hint)
    assert found == (hours, Source.BASELINE_INTERVAL)


def test_a_slot_that_a_factor_chose_backs_off_by_it() -> None:
    hint = {"hint_factor": 2.0, "hint_factor_expires_at": 48 * HOUR}
    found = ended(FAILURE, failures=0, planned=2 * HOUR, source=Source.HINT_FACTOR, hint=hint)
    assert found == (4, Source.HINT_FACTOR)


def test_a_slot_that_a_hinted_interval_chose_stays() -> None:
    hint = {"hint_interval_ms": 3 * 3_600_000, "hint_interval_expires_at": 48 * HOUR}
    found = ended(FAILURE, failures=0, planned=3 * HOUR, source=Source.HINT_INTERVAL, hint=hint)
    assert found == (3, Source.HINT_INTERVAL)


def test_the_first_slot_after_a_hint_is_not_brought_forward() -> None:
    """The hint has held the routine to it: backing off counts from the last slot, and goes behind the hint's end."""
    hint = {"hint_interval_ms": 30 * 3_600_000, "hint_interval_expires_at": 4.5 * HOUR}
    found = ended(succeeded(None), failures=1, planned=6 * HOUR, source=Source.BASELINE_INTERVAL, hint=hint)
    assert found == (5, Source.BASELINE_INTERVAL)


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ({"hint_interval_ms": 5_400_000, "hint_interval_expires_at": 24 * HOUR}, (1.5, Source.HINT_INTERVAL)),
        ({"hint_interval_ms": 5_400_000, "hint_interval_expires_at": HOUR}, (32, Source.BASELINE_INTERVAL)),
        ({"hint_factor": 0.5, "hint_factor_expires_at": 24 * HOUR}, (16, Source.HINT_FACTOR)),
        ({"hint_factor": 2.0, "hint_factor_expires_at": 24 * HOUR}, (32, Source.BASELINE_INTERVAL)),
    ],
    ids=["interval", "interval that ends before", "faster factor", "slower factor"],
)
def test_a_failure_does_not_put_a_routine_off_past_its_hint(hint: dict[str, Any], found: tuple[float, Source]) -> None:
    """The planned slot is from before the hint; backed off it would come later than the hint's moment, which counts."""
    back_off = ended(FAILURE, failures=4, planned=HOUR, source=Source.BASELINE_INTERVAL, hint=hint)
    assert back_off == found
