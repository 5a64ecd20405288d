"""Fault 35: the wall clock stepped by ±1 h in beat, worker and web: no fire early, none skipped, no wait longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.admin import Admin
from tests.acceptance.databases import ROOT
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.acceptance.stack import Stack
from tests.processes import stretched

FLAKY = "tests.acceptance.tasks.flaky"
HOUR = 3600
RETRY = timedelta(seconds=2)
LATE_SECONDS = 2.0
WARNING = "off the database's; routines use the database's"
HOOK = Path(__file__).resolve().parents[1] / "wall_clock"


class WallClock:
    """The time of day as the stack's processes see it."""

    def __init__(self, stack: Stack) -> None:
        self.file = stack.directory / "wall_step"
        self.environment = {"ROUTINES_WALL_STEP": str(self.file), "PYTHONPATH": f"{HOOK}:{ROOT}"}
        self.step(0)

    def step(self, seconds: int) -> None:
        unfinished = self.file.with_suffix(".new")
        unfinished.write_text(str(seconds))
        unfinished.replace(self.file)


@pytest.mark.slow
def test_fault_35_a_stepped_wall_clock_reaches_nothing(stack: Stack, fault: Fault) -> None:
    """Slots, retries, requests by hand and ids go on in the database's time, also in a beat that starts then."""
    wall = WallClock(stack)
    stack.worker(**wall.environment)
    beat = stack.beat(**wall.environment)
    _, address = stack.web(**wall.environment)
    admin = Admin(address)
    ready_beats(stack, 1)
    service.create_routine("each second", task=NOTE, every="1s")
    service.create_routine("each hour", task=NOTE, every="1h")
    flaky = service.create_routine(
        "flaky", task=FLAKY, retry_delay_ms=RETRY // timedelta(milliseconds=1), retry_jitter=0
    )
    stack.wait_until(lambda: RoutineRun.objects.filter(status="SUCCESS").exists(), 30, "nothing runs")

    for seconds in (HOUR, -HOUR):
        stepped_at = datetime.now(UTC)
        wall.step(seconds)
        admin.post(f"/admin/routines/routine/{flaky.pk}/do/run/")
        goes_on(stack, stepped_at)
    another = stack.beat(**wall.environment)
    ready_beats(stack, 2)
    goes_on(stack, datetime.now(UTC), slots=1)

    assert WARNING in another.log()
    assert beat.log().count(WARNING) == 1
    fault.balances(stack, until=datetime.now(UTC) - timedelta(seconds=3))


def goes_on(stack: Stack, since: datetime, slots: int = 4) -> None:
    """Wait for a few slots from then on, and for what was asked for; all that there is by then must be on time."""
    runs = RoutineRun.objects.filter(scheduled_for__gt=since).order_by("id")
    fired = runs.filter(status="SUCCESS", trigger="schedule")
    asked, answered = runs.filter(trigger="manual"), runs.filter(status="SUCCESS", trigger="retry")
    stack.wait_until(lambda: fired.count() >= slots, 20, "no slots after the step")
    stack.wait_until(lambda: asked.count() == answered.count(), 20, "the request by hand did not succeed")
    assert_on_time(list(runs.select_related("retry_of")), datetime.now(UTC))


def assert_on_time(runs: list[RoutineRun], until: datetime) -> None:
    late = timedelta(seconds=stretched(LATE_SECONDS))
    assert {run.reason for run in runs} <= {"", "exception", "not_yet"}
    assert all(run.scheduled_for <= until for run in runs)
    started = [(run, run.started_at) for run in runs if run.started_at is not None]
    assert [run for run, at in started if not timedelta() <= at - run.eligible_at < late] == []
    created = [(run, service.run_created_at(run.pk)) for run in runs if run.retry_of is None]
    assert [run for run, at in created if not timedelta(seconds=-1) < at - run.scheduled_for < late] == []
    slots = [run.scheduled_for for run in runs if run.trigger == "schedule"]
    assert slots == sorted(slots)
    for run in runs:
        if run.retry_of is not None and run.retry_of.completed_at is not None:
            assert abs(run.eligible_at - run.retry_of.completed_at - RETRY) < late / 2
