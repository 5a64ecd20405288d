"""The audit neither looks away nor cries wolf: archives that came back, pruned rows, back-off, clocks that differ."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import finish
from routines_app.protocol.run.start import Started, start
from routines_app.verbs.audit import audit
from routines_app.verbs.declare import declare_routine
from routines_app.verbs.replan import replan_forgotten
from tests.integration.conftest import NOTE, Hours
from tests.integration.protocol.end.finishing import BROKEN
from tests.integration.verbs.rows import made_at
from tests.oracle import judge

SCHEDULES: list[dict[str, Any]] = [{"cron": "* * * * *"}, {"every": "1m"}]


def declare_again(schedule: dict[str, Any]) -> None:
    declare_routine("report", {"task": NOTE, **schedule}, "shop")


def wake_by_sql(schedule: dict[str, Any]) -> None:
    Routine.objects.update(status="ACTIVE")
    replan_forgotten()


@pytest.mark.parametrize("bring_back", [declare_again, wake_by_sql])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rows_that_are_gone_after_an_archive_are_missed(
    hours: Hours, schedule: dict[str, Any], bring_back: Any
) -> None:
    """An archived routine that came back is looked at again from there; what it slept through is owed by nobody."""
    declare_again(schedule)
    hours.pass_by(minutes=10)
    service.archive_routine("report")
    hours.pass_by(minutes=10)
    bring_back(schedule)
    back_at = hours.now
    hours.pass_by(minutes=30)
    assert hours.found() == []
    assert judge(until=hours.now - timedelta(minutes=1)).balances

    later = RoutineRun.objects.filter(scheduled_for__gt=back_at).order_by("scheduled_for")
    gone = later.filter(pk__in=[run.pk for run in later[2:26]])
    assert gone.delete()[0] == 24
    assert len(hours.found()) == (24 if "cron" in schedule else 1)  # an interval's thread is torn once
    assert judge(until=hours.now - timedelta(minutes=1)).lost


def fail_what_runs(hours: Hours) -> None:
    for run in RoutineRun.objects.filter(status=RunStatus.PENDING):
        begun = start(run.pk, "me")
        assert isinstance(begun, Started)
        finish(begun.facts, BROKEN)


def test_an_interval_that_fails_while_it_catches_up_balances(hours: Hours) -> None:
    """The back-off moves a slot that was planned already: the history says so."""
    hours.make(every="1m", catch_up_policy="ALL", misfire_grace_ms=1000, max_attempts=1)
    hours.pass_by(minutes=5, beat=False)
    for _ in range(20):
        hours.pass_by(seconds=10, every=5)
        fail_what_runs(hours)
    hours.pass_by(minutes=10)

    assert hours.found() == []
    assert judge(until=hours.now - timedelta(minutes=1)).balances


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("asked", [True, False])
def test_what_was_pruned_is_not_missed(hours: Hours, settings: Any, schedule: dict[str, Any], asked: bool) -> None:
    """Whoever asks for more than is kept gets the part that is kept; what else is gone is missed."""
    hours.make(**schedule)
    hours.pass_by(minutes=40)
    RoutineRun.objects.update(status="SUCCESS", started_at=hours.now, completed_at=hours.now)
    kept_since = hours.now - timedelta(minutes=14)
    for run in RoutineRun.objects.all():  # ids carry the time of their creation
        RoutineRun.objects.filter(pk=run.pk).update(id=made_at(run.scheduled_for))
    if asked:
        assert service.prune_runs(14 / 1440) > 20
    else:
        settings.ROUTINES = settings.ROUTINES | {"KEEP_RUNS_DAYS": 14 / 1440}
        assert service.prune_runs() > 20

    found = audit(timedelta(days=1), now=hours.now)
    assert [found.imbalances, found.since, found.pruned] == [[], kept_since, True]
    RoutineRun.objects.order_by("id")[3].delete()
    assert len(audit(timedelta(days=1), now=hours.now).imbalances) == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seconds_ahead", [45, 200])
def test_a_beat_whose_clock_is_ahead_is_no_imbalance(
    hours: Hours, schedule: dict[str, Any], seconds_ahead: int
) -> None:
    """It claims before the time of everybody else, and edits come between."""
    for name in ("edited", "archived", "paused", "hinted"):
        hours.make(name, **schedule)
    hours.pass_by(minutes=5)
    claim_due(hours.now + timedelta(seconds=seconds_ahead))
    for run in RoutineRun.objects.all():
        RoutineRun.objects.filter(pk=run.pk).update(id=made_at(hours.now + timedelta(hours=1)))
    hours.now += timedelta(seconds=5)
    service.update_routine("edited", cron="*/7 * * * * *")
    service.propose_next_time("hinted", hours.now + timedelta(seconds=seconds_ahead + 10), ttl="1h")
    service.pause_routine("paused")
    service.archive_routine("archived")
    hours.pass_by(minutes=7)
    service.resume_routine("paused")
    hours.pass_by(minutes=5)

    assert hours.found() == []
    verdict = judge(until=hours.now - timedelta(minutes=1))
    assert verdict.balances, verdict.page()


def test_a_lost_slot_of_an_edited_interval_is_found_by_the_oracle(hours: Hours) -> None:
    """Changes that leave the plan where it is do not hide what is lost after them."""
    hours.make(every="1m")
    hours.pass_by(minutes=5)
    service.update_routine("report", timeout_ms=5000)
    service.propose_next_time("report", hours.now + timedelta(seconds=10), ttl="1h")
    hours.pass_by(minutes=10)
    assert judge(until=hours.now - timedelta(minutes=1)).balances
    RoutineRun.objects.order_by("-scheduled_for")[4].delete()

    assert len(hours.found()) == 1
    assert judge(until=hours.now - timedelta(minutes=1)).lost
