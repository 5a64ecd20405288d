"""The start of a run, by each way: neither before its time nor when that is long over."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from routines_app.core.expiry import FOREVER_MS
from routines_app.core.words import RunTrigger
from routines_app.protocol.run import begin as module
from tests.integration.protocol.conformance.rows import SECOND, make_routine, make_run
from tests.integration.protocol.conformance.starting import FITTING, both_kinds, judge

pytestmark = pytest.mark.django_db

MODULES = (module,)


@both_kinds
@pytest.mark.parametrize(
    ("trigger", "slot_age", "eligible_age", "expires_ms", "starts"),
    [
        pytest.param("schedule", 10**6, 10**6, None, True, id="without a limit nothing expires"),
        pytest.param("schedule", 30, 30, 60_000, True, id="younger than the limit"),
        pytest.param("schedule", 60, 60, 60_000, False, id="as old as the limit"),
        pytest.param("schedule", 90, 0, 60_000, False, id="the age counts from the slot, however late it may run"),
        pytest.param("schedule", 30, 90, 60_000, True, id="the age counts from the slot alone"),
        pytest.param("manual", 60, 60, 60_000, False, id="what was asked for by hand expires too"),
        pytest.param("catch_up", 60, 60, 60_000, False, id="a catch-up expires"),
        pytest.param("retry", 90, 90, 60_000, True, id="a retry does not expire"),
        pytest.param("backfill", 10**6, 30, 60_000, True, id="a backfill counts from when it may run"),
        pytest.param("backfill", 10**6, 60, 60_000, False, id="a backfill that waited as long as the limit"),
        pytest.param("schedule", 0, 0, 0, False, id="a limit of nothing is reached at once"),
        pytest.param("schedule", 10**6, 0, FOREVER_MS * 50, True, id="a limit beyond the calendar is for ever"),
    ],
)
def test_an_old_run_has_expired(
    kind: str, trigger: str, slot_age: int, eligible_age: int, expires_ms: int | None, starts: bool
) -> None:
    """As `core/expiry.py` says, by the clock of the database."""
    now = datetime.now(UTC)
    routine = make_routine(concurrency_policy=FITTING[kind], expires_ms=expires_ms)
    times = {"scheduled_for": now - slot_age * SECOND, "eligible_at": now - eligible_age * SECOND}
    judge(kind, make_run(routine, trigger=trigger, **times), starts)


@both_kinds
@pytest.mark.parametrize("trigger", list(RunTrigger))
@pytest.mark.parametrize(
    ("early", "starts"),
    [
        pytest.param(0, True, id="its time has come"),
        pytest.param(0.8, True, id="in less than a second"),
        pytest.param(3, False, id="in more than a second"),
        pytest.param(3600, False, id="in an hour"),
    ],
)
def test_no_run_starts_before_its_time(kind: str, trigger: RunTrigger, early: float, starts: bool) -> None:
    """Whoever sent the message: nobody of ours has."""
    routine = make_routine(concurrency_policy=FITTING[kind])
    judge(kind, make_run(routine, trigger=trigger, eligible_at=datetime.now(UTC) + early * SECOND), starts)
