"""Why the next slot was chosen outlives a pause, a parking and a catch-up: the grid stays, and the ledger says it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunStatus, RunTrigger, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.integration.conftest import Hours

MINUTE = timedelta(minutes=1)


def end_what_waits(hours: Hours, times: int = 60) -> None:
    """A beat looks every ten seconds, and each run ends before the next look."""
    for _ in range(times):
        hours.pass_by(seconds=10)
        for run in RoutineRun.objects.filter(status=RunStatus.PENDING):
            service.cancel_run(run.pk)


def off_the_grid(hours: Hours, interval: timedelta) -> list[Any]:
    own = RoutineRun.objects.filter(source=Source.BASELINE_INTERVAL)
    return [run.scheduled_for for run in own if (run.scheduled_for - hours.began) % interval]


@pytest.mark.parametrize(
    ("trigger", "hint"), [({"every": "10m"}, "7m"), ({"cron": "*/10 * * * *"}, "5m")], ids=["interval", "cron"]
)
def test_a_hinted_moment_that_waits_for_its_turn_stays_hinted(hours: Hours, trigger: dict[str, Any], hint: str) -> None:
    """An ALL catch-up goes on with it when the run before has ended, and the trigger's own slots follow."""
    hours.make(catch_up_policy="ALL", misfire_grace_ms=60_000, **trigger)
    service.propose_interval("report", hint, ttl="20m")
    hours.pass_by(minutes=8)  # the first moment has fired, and nobody works on it
    hours.pass_by(hours=1, beat=False)
    hours.pass_by(seconds=10)
    assert RoutineState.objects.values_list("next_source", "slot_source").get() == ("catching-up", "hint-interval")

    end_what_waits(hours)

    second = RoutineRun.objects.filter(trigger=RunTrigger.CATCH_UP).earliest("scheduled_for")
    assert second.source == Source.HINT_INTERVAL
    assert off_the_grid(hours, 10 * MINUTE) == []
    assert hours.found() == []


@pytest.mark.parametrize("hold", ["pause", "park"])
def test_a_hinted_moment_keeps_its_source_while_it_is_held_back(hours: Hours, hold: str) -> None:
    """A cleared hint does not make it a slot of the grid."""
    hours.make(every="1h")
    service.propose_interval("report", "7m", ttl="1h")
    if hold == "pause":
        service.pause_routine("report")
    else:
        Routine.objects.update(status="PARKED")
        RoutineState.objects.update(next_run_at=None, next_source=Source.PARKED)
    hours.pass_by(minutes=8)
    service.clear_hints("report")
    assert RoutineState.objects.get().slot_source == Source.HINT_INTERVAL

    if hold == "pause":
        service.resume_routine("report", release="LAST")
        assert RoutineState.objects.get().next_source == Source.HINT_INTERVAL
    else:
        service.reset_routine("report")
    hours.pass_by(hours=3)

    assert RoutineRun.objects.earliest("scheduled_for").source == Source.HINT_INTERVAL
    assert off_the_grid(hours, timedelta(hours=1)) == []
    assert hours.found() == []


def test_the_first_slot_after_a_hint_is_the_schedules_own(hours: Hours) -> None:
    """Also where a pause has held it back."""
    hours.make(cron="*/10 * * * *", catch_up_policy="LAST")
    service.pause_routine("report")
    service.propose_interval("report", "30m", ttl="15m")
    service.update_routine("report", min_interval_ms=1_000)  # plans anew, behind the hint's end
    hours.pass_by(minutes=25)
    service.resume_routine("report", release="LAST")
    hours.pass_by(minutes=1)

    (run,) = RoutineRun.objects.exclude(status=RunStatus.SKIPPED)
    assert run.source == Source.BASELINE_CRON
    assert hours.found() == []


def test_where_nothing_is_planned_there_is_no_source(hours: Hours) -> None:
    for name, end in (("manual", {}), ("archived", {"every": "1h"})):
        hours.make(name, **end)
    service.archive_routine("archived")
    assert set(RoutineState.objects.values_list("next_slot", "slot_source")) == {(None, "")}


@pytest.mark.parametrize("release", ["SKIP", "LAST"])
def test_a_clamped_interval_is_through_with_its_pause_at_once(hours: Hours, release: str) -> None:
    """However many slots there were: each of them planned by itself would cost a claim."""
    hours.make(every="2s", min_interval_ms=3_000, misfire_grace_ms=1_000)
    hours.pass_by(seconds=10, every=1)
    service.pause_routine("report")
    assert RoutineState.objects.get().slot_source == Source.CLAMPED_MIN
    hours.pass_by(hours=1, beat=False)
    service.resume_routine("report", release=release)
    hours.pass_by(seconds=4, every=1)

    assert RoutineState.objects.filter(next_slot__gt=hours.now).exists()
    assert off_the_grid(hours, timedelta(seconds=2)) == []
    assert hours.found() == []
