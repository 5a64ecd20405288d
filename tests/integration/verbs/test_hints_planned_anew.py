"""Plans that are made anew while hints and clamps hold: nothing is put off by it, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Source
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.end.transaction import settle
from routines_app.protocol.ledger.database import ledger_alias
from tests.integration.conftest import Hours
from tests.integration.verbs.test_hints_account import assert_balances, at, rows

Verb = Callable[[], Any]
TENS = {"cron": "*/10 * * * *"}
EVERY_TEN = {"every": "10m"}
TWO_HOURS_MS = 7_200_000


def pause_and_resume() -> None:
    service.pause_routine("report")
    service.resume_routine("report")


PLAN_ANEW: dict[str, Verb] = {"resume": pause_and_resume, "replan": lambda: service.replan_routine("report")}


def planned(hours: Hours) -> float:
    slot = RoutineState.objects.get().next_slot
    assert slot is not None
    return (slot - at(hours, 0)) / timedelta(minutes=1)


def end_waiting_runs() -> None:
    """So that an ALL catch-up goes on."""
    for run in RoutineRun.objects.filter(status="PENDING"):
        service.cancel_run(run.pk)


def catch_up(hours: Hours) -> None:
    for _ in range(60):
        hours.pass_by(seconds=10)
        end_waiting_runs()


@pytest.mark.parametrize(
    "by_mistake",
    [
        lambda hours: service.update_routine("report", min_interval_ms=TWO_HOURS_MS),
        lambda hours: service.update_routine("report", end_at=at(hours, 15)),
        lambda _: (service.propose_factor(10, routine="report", ttl="2h"), service.replan_routine("report")),
    ],
    ids=["clamp", "end", "hint"],
)
def test_a_plan_that_ends_the_schedule_by_mistake_is_taken_back(hours: Hours, by_mistake: Callable[..., Any]) -> None:
    """What is to come has no row yet, so it fires."""
    hours.make(**TENS, end_at=at(hours, 60))
    hours.pass_by(minutes=11)
    by_mistake(hours)
    assert RoutineState.objects.get().next_source == Source.ENDED
    service.update_routine("report", min_interval_ms=None, end_at=at(hours, 60))
    service.clear_hints("report")
    assert planned(hours) == 20
    hours.pass_by(hours=2)
    assert [minute for minute, _, _ in rows(hours)] == [10, 20, 30, 40, 50, 60]
    assert_balances(hours)


@pytest.mark.parametrize("verb", PLAN_ANEW.values(), ids=PLAN_ANEW.keys())
def test_planning_anew_does_not_put_a_hinted_moment_off(hours: Hours, verb: Verb) -> None:
    """However often: what the pace goes past is settled by the claim that reaches its moment."""
    hours.make(**TENS)
    hours.pass_by(minutes=10)
    service.propose_interval("report", "60m", ttl="10h")
    hours.pass_by(minutes=11)
    for _ in range(8):
        hours.pass_by(minutes=30)
        verb()
    fired = [(minute, source) for minute, source, _ in rows(hours) if source != "superseded"]
    assert fired[2:] == [(80, "hint-interval"), (140, "hint-interval"), (200, "hint-interval"), (260, "hint-interval")]
    assert_balances(hours)


def test_a_due_one_shot_does_not_let_planning_anew_put_the_pace_off(hours: Hours) -> None:
    """The slot stays due, and the pace's anchor is where it was."""
    hours.make(**TENS)
    hours.pass_by(minutes=10)
    service.propose_interval("report", "60m", ttl="10h")
    hours.pass_by(minutes=11)
    service.propose_next_time("report", at(hours, 55))
    hours.pass_by(minutes=35, beat=False)
    service.replan_routine("report")
    hours.pass_by(minutes=1)
    assert (rows(hours)[-1], planned(hours)) == ((55, "hint-oneshot", 1), 80)


@pytest.mark.parametrize("trigger", [TENS, EVERY_TEN], ids=["cron", "interval"])
def test_one_shots_after_a_late_claim_do_not_put_the_pace_off(hours: Hours, trigger: dict[str, str]) -> None:
    """The late claim has restarted it, and it counts from then on."""
    hours.make(**trigger)
    service.propose_interval("report", "60m", ttl="20h")
    hours.pass_by(minutes=11)
    hours.pass_by(hours=3, beat=False)
    hours.pass_by(minutes=1)
    restarted = planned(hours)
    for minute in (17, 43):
        service.propose_next_time("report", at(hours, planned(hours) - 60 + minute))
        hours.pass_by(minutes=25)
        assert planned(hours) == restarted
    hours.pass_by(minutes=20)
    assert rows(hours)[-1][:2] == (restarted, "hint-interval")
    assert planned(hours) == pytest.approx(restarted + 60)
    assert_balances(hours)


def test_a_recovery_after_a_late_claim_does_not_put_a_factor_off(hours: Hours) -> None:
    hours.make(**EVERY_TEN)
    hours.pass_by(minutes=9)
    service.propose_factor(6, routine="report", ttl="20h")
    hours.pass_by(minutes=2)
    hours.pass_by(hours=3, beat=False)
    hours.pass_by(minutes=1)
    restarted = planned(hours)
    hours.pass_by(minutes=25)
    settle(ledger_alias(), Routine.objects.get().pk, hours.now, recovered=True)
    assert planned(hours) == restarted


@pytest.mark.parametrize(
    ("policy", "ran", "misfired"),
    [("ALL", range(20, 130, 10), []), ("LAST", [120], [(20, "misfire", 10)]), ("SKIP", [], [(20, "misfire", 11)])],
)
def test_an_outage_behind_the_lower_clamp_is_caught_up(
    hours: Hours, policy: str, ran: list[int], misfired: list[tuple[int, str, int]]
) -> None:
    """:20 is planned because :10 is too close to a one-shot: :10 stays passed over, and all that was missed counts."""
    hours.make(**TENS, min_interval_ms=300_000, catch_up_policy=policy)
    service.propose_next_time("report", at(hours, 7))
    hours.pass_by(minutes=8)
    assert RoutineState.objects.get().slot_source == Source.CLAMPED_MIN
    end_waiting_runs()
    hours.pass_by(hours=1, minutes=58, beat=False)
    catch_up(hours)
    found = RoutineRun.objects.filter(trigger="catch_up").order_by("id").values_list("scheduled_for", flat=True)
    assert list(found) == [at(hours, minute) for minute in ran]
    assert [row for row in rows(hours) if row[1] == "misfire"] == misfired
    assert (10, "superseded", 1) in rows(hours)
    assert_balances(hours)


def test_a_slot_that_is_caught_up_uses_up_a_one_shot_before_it(hours: Hours) -> None:
    """ALL: 50.5 fires after the one-shot's moment, and no extra fire follows."""
    hours.make(**EVERY_TEN, catch_up_policy="ALL")
    hours.pass_by(minutes=11)
    end_waiting_runs()
    hours.pass_by(minutes=35, beat=False)
    hours.pass_by(seconds=10)
    service.propose_next_time("report", at(hours, 48), ttl="2h")
    hours.pass_by(minutes=10, beat=False)
    catch_up(hours)
    assert [minute for minute, *_ in rows(hours)] == [10.5, 20.5, 30.5, 40.5, 50.5, 60.5]
    assert RoutineState.objects.get().hint_next_at is None
    assert_balances(hours)


@pytest.mark.parametrize("several", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("due", [False, True], ids=["in the future", "due"])
def test_clearing_hints_leaves_an_edit_by_sql_to_the_claim(hours: Hours, several: bool, due: bool) -> None:
    """It says in the history that the schedule was found changed: the audit judges nothing before by the new one."""
    hours.make(**TENS, tags=["t"])
    hours.pass_by(minutes=11)
    service.propose_interval("report", "25m", ttl="2h")
    hours.pass_by(minutes=9 if due else 1, seconds=10 if due else 0, beat=False)
    Routine.objects.update(cron="*/15 * * * *")
    service.clear_hints(**({"tag": "t"} if several else {"routine": "report"}))
    hours.pass_by(minutes=90)
    fired = [minute for minute, source, _ in rows(hours) if source == "baseline-cron"]
    assert fired == [10, *([] if due else [15]), 30, 45, 60, 75, 90, *([105] if hours.now > at(hours, 105) else [])]
    assert ScheduleChange.objects.get(kind="replanned").after["cron"] == "*/15 * * * *"
    assert hours.found() == []


def test_clearing_the_hints_of_a_paused_routine_leaves_an_edit_by_sql_for_later(hours: Hours) -> None:
    """A beat looks at it when the pause ends, and not before."""
    hours.make(**TENS)
    service.propose_interval("report", "25m", ttl="2h")
    service.pause_routine("report", until=at(hours, 30))
    Routine.objects.update(cron="*/15 * * * *")
    service.clear_hints("report")
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.hint_interval_ms) == (at(hours, 30), None)


def test_a_pause_over_the_first_slot_after_a_hint_skips_that_slot_alone(hours: Hours) -> None:
    """What the hint went past before it was not kept back by the pause, and no resume releases it."""
    hours.make(**TENS)
    hours.pass_by(minutes=11)
    service.propose_interval("report", "60m", ttl="40m")
    hours.pass_by(minutes=10)  # :20 fires as planned, and :60 is the first after the hint
    assert planned(hours) == 60
    service.pause_routine("report")
    hours.pass_by(minutes=44)
    released = service.slots_to_release("report")
    assert released is not None
    assert (released.first, released.count) == (at(hours, 60), 1)
    service.resume_routine("report")
    hours.pass_by(minutes=10)
    assert [row for row in rows(hours) if row[0] > 20] == [
        (30, "superseded", 3),
        (60, "paused", 1),
        (70, "baseline-cron", 1),
    ]
    assert_balances(hours)
