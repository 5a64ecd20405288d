"""Cases that the model and the audit have found: each lost or misplaced a slot once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.models import RoutineRun, RoutineState
from tests.integration.conftest import Hours


def test_a_late_look_at_a_hinted_cron_keeps_the_crons_own_slots(hours: Hours) -> None:
    """Several moments of the hint had passed: the cron's slots between them had no row."""
    hours.make(cron="* * * * *", misfire_grace_ms=600_000)
    service.propose_interval("report", "90s", ttl="1h")
    hours.pass_by(minutes=6, beat=False)
    hours.pass_by(minutes=6)

    assert hours.found() == []


def test_a_hint_that_comes_after_its_routine_was_due_does_not_rewrite_the_past(hours: Hours) -> None:
    """The slots before the hint are those of the clamped cron."""
    hours.make(cron="* * * * *", min_interval_ms=150_000)
    hours.pass_by(minutes=10, beat=False)
    service.propose_interval("report", "1m", ttl="1h")
    hours.pass_by(minutes=6)

    assert hours.found() == []


@pytest.mark.parametrize("release", ["SKIP", "LAST", "ALL"])
def test_a_pause_over_a_moved_cron_keeps_the_crons_own_slots(hours: Hours, release: str) -> None:
    """The pause overwrites why the next slot was planned; what the clamp went past was then forgotten."""
    hours.make(cron="* * * * *", min_interval_ms=150_000, catch_up_limit=2)
    hours.pass_by(minutes=4)
    service.pause_routine("report")
    hours.pass_by(minutes=7)
    service.resume_routine("report", release=release)
    for _ in range(6):
        hours.pass_by(minutes=1)
        RoutineRun.objects.filter(status="PENDING").update(status="CANCELLED", completed_at=hours.now)

    assert hours.found() == []


def test_a_one_shot_that_a_pause_kept_from_firing_stands_alone(hours: Hours) -> None:
    """The cron's slots of the pause were added to the row of the hint, which made its count wrong."""
    hours.make(cron="* * * * *")
    service.pause_routine("report")
    service.propose_next_time("report", hours.now + timedelta(seconds=10), ttl="1h")
    hours.pass_by(minutes=5)
    service.resume_routine("report")
    hours.pass_by(minutes=3)

    assert hours.found() == []
    hinted = RoutineRun.objects.get(scheduled_for=hours.began + timedelta(seconds=10))
    assert (hinted.status, hinted.reason, hinted.occurrences) == ("SKIPPED", "paused", 1)


def test_a_reset_keeps_the_slots_that_a_hint_went_past(hours: Hours) -> None:
    """Planning anew from now left them behind without a row."""
    hours.make(cron="* * * * *")
    service.propose_interval("report", "10m", ttl="1h")
    hours.pass_by(minutes=1)  # the slot that was planned before the hint
    hours.pass_by(minutes=5)
    RoutineState.objects.update(failure_count=1)
    service.reset_routine("report")
    assert RoutineState.objects.get().next_slot == hours.began.replace(second=0) + timedelta(minutes=11)
    hours.pass_by(minutes=5)

    assert hours.found() == []
    assert RoutineRun.objects.get(reason="superseded").occurrences == 9


def test_a_slot_after_a_pause_whose_end_is_seen_late_stays_due(hours: Hours) -> None:
    """Planned anew as of the pause's end, by a hint that has long expired, it was replaced by another moment."""
    hours.make(every="3m")
    service.propose_interval("report", "1m", ttl="20m")
    service.pause_routine("report", until=hours.now + timedelta(minutes=20))
    hours.pass_by(minutes=61, beat=False)
    service.update_routine("report", every="2m")
    planned = RoutineState.objects.get().next_slot
    hours.pass_by(minutes=2, beat=False)
    hours.pass_by(minutes=5)

    assert hours.found() == []
    assert RoutineRun.objects.filter(scheduled_for=planned).exists()
