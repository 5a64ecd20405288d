"""What a run waits for, as a sentence that can be said in another language."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from routines_app.core.room import PoolUsage
from routines_app.core.said import Moment, Said
from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.verbs.waits_for import Blocker, Waiter, why

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = UUID(int=7)
WAITER = Waiter(
    reason=Reason.NONE,
    routine_status=RoutineStatus.ACTIVE,
    paused_until=None,
    pause_reason="",
    pool=None,
    usage=None,
    queue="",
    attempt=1,
    requested_at=None,
    eligible_at=NOW,
    admitted_at=None,
    dispatched_at=None,
    publish_after=None,
    error="",
)
RUNNING = Blocker(run_id=RUN, status=RunStatus.RUNNING, since=NOW, stop_requested=False, in_line=False)
AT = "2026-03-01 12:00:00 UTC"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"routine_status": RoutineStatus.ARCHIVED}, "its routine is archived: it is cancelled in a moment"),
        ({"dispatched_at": NOW}, f"sent to the broker at {AT}: no worker has begun it yet"),
        ({"dispatched_at": NOW, "queue": "mail"}, f"sent to queue mail at {AT}: no worker has begun it yet"),
        ({"admitted_at": NOW}, f"let through at {AT}: it is on its way to the broker"),
        ({"routine_status": RoutineStatus.PARKED}, "the routine is parked"),
        (
            {"routine_status": RoutineStatus.PAUSED, "paused_until": NOW, "pause_reason": "{moving}"},
            f"the routine is paused until {AT}: {{moving}}",
        ),
        ({"pool": "db"}, "for room in pool db"),
        ({"pool": "db", "usage": PoolUsage(ceiling=2, in_flight=2)}, "pool db is full (2 of 2)"),
        ({"reason": Reason.PUBLISH_FAILED, "error": "{no} route"}, "it could not be sent: {no} route"),
        (
            {"reason": Reason.REDIS_AWAY, "publish_after": NOW},
            f"Redis could not be reached, and its lease is there, and is tried again at {AT}",
        ),
        ({}, "a beat looks at it in a moment"),
        ({"reason": Reason.MISFIRE}, "it waits (misfire)"),
    ],
)
def test_it_is_said_why_a_run_waits(facts: dict[str, object], sentence: str) -> None:
    told = why(replace(WAITER, **facts), None, NOW)  # type: ignore[arg-type]
    assert told == sentence
    assert isinstance(told, Said)


@pytest.mark.parametrize(
    ("blocker", "sentence"),
    [
        (None, "behind another run of its routine, which has just ended"),
        (replace(RUNNING, in_line=True), f"behind run {RUN}, which is before it in line"),
        (replace(RUNNING, status=RunStatus.PENDING), f"behind run {RUN}, which has not begun"),
        (RUNNING, f"behind run {RUN}, which runs since {AT}"),
        (replace(RUNNING, stop_requested=True), f"behind run {RUN}, which runs since {AT} and was asked to stop"),
        (replace(RUNNING, since=None), f"behind run {RUN}, which runs"),
        (replace(RUNNING, since=None, stop_requested=True), f"behind run {RUN}, which runs and was asked to stop"),
    ],
)
def test_it_is_said_which_run_is_before_it(blocker: Blocker | None, sentence: str) -> None:
    told = why(replace(WAITER, reason=Reason.OVERLAP), blocker, NOW)
    assert told == sentence
    assert isinstance(told.values["run"], Said)


def test_a_time_in_it_is_a_value() -> None:
    """A page writes it as its viewer does."""
    assert why(replace(WAITER, admitted_at=NOW), None, NOW).values == {"at": Moment(NOW, UTC)}
