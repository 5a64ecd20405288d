"""A ONCE routine on a real database: its one moment becomes one row, whatever happens around it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Source
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from tests.integration.conftest import NOTE, Hours
from tests.integration.races.test_verbs import at_once
from tests.oracle.judge import judge

HOUR = timedelta(hours=1)


def made(hours: Hours, **policies: Any) -> datetime:
    """A routine that is to fire in an hour, and when."""
    moment = hours.now + HOUR
    hours.make(at=moment, **policies)
    return moment


def rows() -> list[tuple[str, str, datetime]]:
    return list(RoutineRun.objects.order_by("scheduled_for").values_list("status", "reason", "scheduled_for"))


def balances(hours: Hours) -> None:
    assert hours.found() == []
    verdict = judge(until=hours.now)
    assert (verdict.lost, verdict.duplicates, verdict.unexpected) == ([], [], [])


def test_it_fires_at_its_moment_and_has_ended(hours: Hours) -> None:
    """The routine stays ACTIVE, and no beat looks at it again."""
    moment = made(hours)
    hours.pass_by(hours=3)
    run = RoutineRun.objects.get()
    assert (run.status, run.scheduled_for, run.source, run.trigger) == ("PENDING", moment, "baseline-once", "schedule")
    state = RoutineState.objects.select_related("routine").get()
    assert (state.routine.status, state.next_source, state.next_slot) == ("ACTIVE", Source.ENDED, None)
    assert (state.next_run_at, state.last_slot) == (None, moment)
    balances(hours)


@pytest.mark.django_db(transaction=True)
def test_two_claimers_fire_it_once() -> None:
    """One has locked its state, and whoever comes after finds nothing due."""
    moment = clock.now() + HOUR
    for number in range(20):
        service.create_routine(f"once {number}", task=NOTE, at=moment)
    at_once(*[lambda: claim_due(moment)] * 2)
    claim_due(moment)  # on SQLite the second may have found the ledger busy
    fired = RoutineRun.objects.filter(status="PENDING", scheduled_for=moment)
    assert fired.values("routine").distinct().count() == fired.count() == RoutineRun.objects.count() == 20


@pytest.mark.parametrize(
    ("policy", "row"),
    [("SKIP", ("SKIPPED", "misfire")), ("LAST", ("PENDING", "")), ("ALL", ("PENDING", ""))],
)
def test_an_outage_over_its_moment_is_a_missed_slot(hours: Hours, policy: str, row: tuple[str, str]) -> None:
    """As the routine's catch-up policy has it; either way it has ended then."""
    moment = made(hours, catch_up_policy=policy)
    hours.pass_by(hours=5, beat=False)
    hours.pass_by(minutes=1)
    assert rows() == [(*row, moment)]
    assert RoutineState.objects.get().next_source == Source.ENDED
    balances(hours)


def test_a_beat_that_is_a_little_late_fires_it_all_the_same(hours: Hours) -> None:
    """Within the grace nothing was missed."""
    moment = made(hours, misfire_grace_ms=600_000)
    hours.pass_by(minutes=65, beat=False)
    hours.pass_by(minutes=1)
    assert rows() == [("PENDING", "", moment)]
    assert RoutineRun.objects.get().trigger == "schedule"


@pytest.mark.parametrize(("release", "row"), [("SKIP", ("SKIPPED", "paused")), ("LAST", ("PENDING", ""))])
def test_a_pause_over_its_moment_holds_it(hours: Hours, release: str, row: tuple[str, str]) -> None:
    """The end of the pause says what becomes of it, as of any other slot."""
    moment = made(hours)
    service.pause_routine("report")
    hours.pass_by(hours=2)
    service.resume_routine("report", release=release)
    hours.pass_by(minutes=1)
    assert rows() == [(*row, moment)]
    assert RoutineState.objects.get().next_source == Source.ENDED
    balances(hours)


def test_a_pause_that_ends_before_leaves_it_alone(hours: Hours) -> None:
    moment = made(hours)
    service.pause_routine("report")
    hours.pass_by(minutes=10)
    service.resume_routine("report")
    hours.pass_by(hours=2)
    assert rows() == [("PENDING", "", moment)]
    balances(hours)


def test_a_new_moment_after_it_has_fired_is_one_more_slot(hours: Hours) -> None:
    """The first one has its row, and keeps it."""
    moment = made(hours)
    hours.pass_by(hours=2)
    again = hours.now + HOUR
    service.update_routine("report", once_at=again)
    assert RoutineState.objects.get().next_run_at == again
    hours.pass_by(hours=2)
    assert rows() == [("PENDING", "", moment), ("PENDING", "", again)]
    balances(hours)


def test_a_moment_that_is_moved_before_it_comes_fires_only_at_the_new_one(hours: Hours) -> None:
    made(hours)
    later = hours.now + 2 * HOUR
    service.update_routine("report", at=later)
    hours.pass_by(hours=3)
    assert rows() == [("PENDING", "", later)]
    balances(hours)


def test_a_due_moment_that_is_moved_is_in_the_ledger_as_superseded(hours: Hours) -> None:
    moment = made(hours)
    hours.pass_by(minutes=90, beat=False)
    later = hours.now + HOUR
    service.update_routine("report", at=later)
    hours.pass_by(hours=2)
    assert rows() == [("SKIPPED", "superseded", moment), ("PENDING", "", later)]
    balances(hours)


def test_an_edit_of_something_else_after_it_has_fired_plans_nothing(hours: Hours) -> None:
    """Its moment is over, and stays so: nothing is refused and nothing fires."""
    moment = made(hours)
    hours.pass_by(hours=2)
    service.update_routine("report", timezone="Asia/Tokyo", priority="HIGH", once_at=moment)
    hours.pass_by(hours=2)
    assert rows() == [("PENDING", "", moment)]
    balances(hours)


@pytest.mark.parametrize("clamps", [{"min_interval_ms": 86_400_000}, {"max_interval_ms": 60_000}])
def test_clamps_say_nothing_about_one_moment(hours: Hours, clamps: dict[str, int]) -> None:
    """They are distances between slots, and there is only one."""
    moment = made(hours)
    hours.pass_by(hours=2)
    again = hours.now + HOUR
    service.update_routine("report", once_at=again, **clamps)
    hours.pass_by(hours=3)
    assert rows() == [("PENDING", "", moment), ("PENDING", "", again)]
    balances(hours)


def test_a_proposed_time_is_one_more_fire(hours: Hours) -> None:
    """Before its moment, and after it has fired."""
    moment = made(hours)
    before, after = hours.now + HOUR / 2, hours.now + 3 * HOUR
    service.propose_next_time("report", before)
    hours.pass_by(hours=2)
    service.propose_next_time("report", after)
    hours.pass_by(hours=2)
    found = RoutineRun.objects.order_by("scheduled_for").values_list("scheduled_for", "source")
    assert list(found) == [(before, "hint-oneshot"), (moment, "baseline-once"), (after, "hint-oneshot")]
    balances(hours)


def test_a_proposed_time_at_its_very_moment_is_the_same_fire(hours: Hours) -> None:
    moment = made(hours)
    service.propose_next_time("report", moment)
    hours.pass_by(hours=2)
    assert rows() == [("PENDING", "", moment)]
    assert RoutineState.objects.get().next_source == Source.ENDED
    balances(hours)


def test_a_pace_that_was_hinted_to_what_it_was_before_is_over(hours: Hours) -> None:
    """It was an interval, and sped up: as one moment it fires once."""
    hours.make(every="1h")
    service.propose_interval("report", "1m", ttl="12h")
    hours.pass_by(seconds=90)
    fired = RoutineRun.objects.count()
    moment = hours.now + HOUR
    service.update_routine("report", at=moment)
    hours.pass_by(hours=3)
    assert RoutineRun.objects.count() == fired + 1
    assert RoutineRun.objects.filter(scheduled_for=moment, source="baseline-once").exists()
    balances(hours)


def test_jitter_moves_the_run_and_not_the_slot(hours: Hours) -> None:
    moment = made(hours, jitter_ms=600_000)
    hours.pass_by(hours=2)
    run = RoutineRun.objects.get()
    assert run.scheduled_for == moment
    assert moment < run.eligible_at <= moment + timedelta(minutes=10)


def test_a_change_by_plain_sql_is_noticed(hours: Hours) -> None:
    """The slot that was announced is superseded, and the history lets the audit follow."""
    moment = made(hours)
    later = moment + HOUR
    Routine.objects.update(once_at=later)
    hours.pass_by(hours=3)
    assert rows() == [("SKIPPED", "superseded", moment), ("PENDING", "", later)]
    assert hours.found() == []
