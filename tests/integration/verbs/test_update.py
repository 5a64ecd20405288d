"""Editing routines: versions, schedules, and what an edit leaves in the history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus, Source, TriggerKind
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.plan.planning import fingerprint_of
from routines_app.protocol.publish.judge import LOOK_LATER
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def test_an_edit_raises_the_version_and_the_callers_instance_follows(make: Make) -> None:
    """One instance can be edited again and again."""
    routine = make(every="1h")
    service.update_routine(routine, description="first")
    service.update_routine(routine, description="second")
    assert (routine.version, Routine.objects.get().version, routine.description) == (3, 3, "second")


def test_an_edit_on_a_stale_instance_is_refused(make: Make) -> None:
    """Who read the routine before somebody else's edit has to read it again."""
    make(every="1h")
    mine, theirs = Routine.objects.get(), Routine.objects.get()
    service.update_routine(theirs, description="theirs")
    with pytest.raises(service.StaleVersion, match="at version 2"):
        service.update_routine(mine, description="mine")
    assert Routine.objects.get().description == "theirs"


def test_a_version_can_be_given_with_an_id_or_a_name(make: Make) -> None:
    """A form that only knows id and version is protected as well."""
    routine = make(every="1h")
    service.update_routine(routine.pk, version=1, description="new")
    with pytest.raises(service.StaleVersion):
        service.update_routine("report", version=1, description="newer")


def test_an_edit_that_changes_nothing_writes_nothing(make: Make) -> None:
    """Saving a form as it is does not count as a change."""
    routine = make(cron="0 * * * *", args=[1])
    service.update_routine(routine, cron="0 * * * *", interval_ms=None, args=[1], tags=[])
    assert (routine.version, ScheduleChange.objects.count()) == (1, 1)


def test_arguments_that_python_calls_equal_are_still_a_change(make: Make) -> None:
    """1 and True are different JSON."""
    routine = make(args=[1])
    service.update_routine(routine, args=[True])
    assert Routine.objects.get().args == [True]


def test_every_replaces_cron_and_back(make: Make) -> None:
    """The trigger is what was given last."""
    routine = make(cron="0 * * * *")
    service.update_routine(routine, every="5m")
    assert (routine.trigger_kind, routine.cron, routine.interval_ms) == (TriggerKind.INTERVAL, "", 300_000)
    service.update_routine(routine, cron="30 * * * *")
    assert (routine.trigger_kind, routine.cron, routine.interval_ms) == (TriggerKind.CRON, "30 * * * *", None)
    assert RoutineState.objects.get().next_slot == MONDAY.replace(minute=30, second=0)


@pytest.mark.parametrize("change", [{"cron": None}, {"cron": ""}, {"trigger_kind": "MANUAL"}], ids=repr)
def test_an_emptied_trigger_makes_a_routine_manual(make: Make, change: dict[str, Any]) -> None:
    """Nothing is planned any more."""
    routine = make(cron="0 * * * *")
    service.update_routine(routine, **change)
    assert routine.trigger_kind == TriggerKind.MANUAL
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_run_at, state.next_source) == (None, None, Source.MANUAL)


def test_a_new_schedule_is_planned_from_now_and_its_fingerprint_is_known(make: Make, time: Time) -> None:
    """The claim will not take the edit for one made behind its back."""
    routine = make(cron="0 * * * *")
    time.pass_by(minutes=10)
    service.update_routine(routine, cron="*/5 * * * *")
    state = RoutineState.objects.get()
    assert state.next_slot == state.next_run_at == MONDAY.replace(minute=15, second=0)
    assert state.fingerprint == fingerprint_of(Routine.objects.get())


def test_a_slot_that_was_due_is_accounted_for_by_the_edit(make: Make, time: Time) -> None:
    """Slots of the old schedule that no beat had claimed become one SKIPPED row that says why."""
    routine = make(cron="0 * * * *")
    time.pass_by(hours=3)
    service.update_routine(routine, cron="30 * * * *")
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.SUPERSEDED, 3)
    assert run.scheduled_for == MONDAY.replace(hour=11, minute=0, second=0)
    assert run.scheduled_until == MONDAY.replace(hour=13, minute=0, second=0)
    assert RoutineState.objects.get().next_slot == MONDAY.replace(hour=13, minute=30, second=0)


def test_an_edit_of_a_policy_leaves_the_plan_alone(make: Make, time: Time) -> None:
    """A due slot stays due when only a policy changes."""
    routine = make(every="1h")
    time.pass_by(hours=2)
    service.update_routine(routine, timeout_ms="10m")
    assert RoutineState.objects.get().next_slot == MONDAY + timedelta(hours=1)
    assert not RoutineRun.objects.exists()


def test_a_new_start_moves_the_grid_of_an_interval(make: Make, time: Time) -> None:
    """Interval slots are counted from the start."""
    routine = make(every="1h")
    time.pass_by(minutes=10)
    service.update_routine(routine, start_at=MONDAY - timedelta(minutes=15))
    assert RoutineState.objects.get().next_slot == MONDAY + timedelta(minutes=45)
    later = time.now + timedelta(days=1)
    service.update_routine(routine, start_at=later)
    assert RoutineState.objects.get().next_slot == later


def test_an_edit_during_a_pause_accounts_for_the_old_schedule_and_plans_the_new_one(make: Make, time: Time) -> None:
    """The slots of the pause so far belong to the schedule that was; the pause goes on."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    time.pass_by(hours=2)
    service.update_routine(routine, every="10m")
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.PAUSED, 2)
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.next_source) == (None, Source.PAUSED)
    assert state.next_slot is not None
    assert state.next_slot > time.now


def test_an_edit_is_in_the_history_with_before_and_after(make: Make) -> None:
    """The audit can follow the schedule through its changes."""
    routine = make(cron="0 * * * *")
    service.update_routine(routine, cron="30 * * * *", actor="ann", reason="too early")
    change = ScheduleChange.objects.first()
    assert change is not None
    assert (change.kind, change.actor, change.reason) == (ChangeKind.UPDATED, "ann", "too early")
    assert (change.before, change.after) == ({"cron": "0 * * * *"}, {"cron": "30 * * * *"})
    assert change.next_slot == MONDAY.replace(minute=30, second=0)


def test_a_rename_to_a_taken_name_is_refused(make: Make) -> None:
    """Names stay unique through edits."""
    make("one")
    two = make("two")
    with pytest.raises(service.DuplicateName):
        service.update_routine(two, name="one")
    service.update_routine(two, name="three")
    assert set(Routine.objects.values_list("name", flat=True)) == {"one", "three"}


def test_an_edit_after_ten_years_of_seconds_counts_them_at_once(make: Make, time: Time) -> None:
    """One row stands for all that the pause kept back, and the new schedule goes on from now."""
    routine = make(cron="* * * * * *", timezone="America/New_York")
    service.pause_routine(routine)
    time.pass_by(days=3_650)
    service.update_routine(routine, cron="0 * * * *")
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.PAUSED, 3_650 * 86_400)
    assert run.scheduled_until == time.now
    state = RoutineState.objects.get()
    assert state.last_slot == time.now
    assert state.next_slot == time.now.replace(minute=0, second=0) + timedelta(hours=1)


OLDER = {"name": "2", "group": "a\u200bb", "tags": ["c\u202ed"]}
"""What rows may have that were written before there were rules for it."""


def test_an_edit_that_leaves_an_older_name_alone_is_accepted(make: Make) -> None:
    """Also one that gives it again: only what changes is judged by the rules of today."""
    routine = make(every="1h")
    Routine.objects.update(**OLDER)
    service.update_routine("2", description="edited", **OLDER)
    service.update_routine(routine.pk, description="again")
    assert Routine.objects.values(*OLDER).get() == OLDER
    for field, value in {"name": "3", "group": "e\u200bf", "tags": ["g", "c\u202ed"]}.items():
        with pytest.raises(service.InvalidValue, match=f"^{field}: "):
            service.update_routine("2", **{field: value})


@pytest.mark.parametrize("before", ["QUEUE", "FORBID"])
def test_an_edit_to_allow_lets_all_go_that_waited_for_others(make: Make, time: Time, before: str) -> None:
    """At the next look, and not when each would have been looked at behind the others."""
    routine = make(concurrency_policy=before, every="10m")
    running_run(routine, 1, running_key=routine.pk)
    waits = {"admitted_at": None, "publish_after": MONDAY, "trigger": "backfill"}
    line = {str(waiting_run(routine, number, **waits).pk) for number in range(2, 6)}
    assert dispatch_waiting(MONDAY) == []
    assert RoutineRun.objects.filter(publish_after=MONDAY + LOOK_LATER).count() == len(line) - 1
    service.update_routine(routine.pk, concurrency_policy="ALLOW")
    assert {message.run_id for message in dispatch_waiting(time.pass_by(seconds=1))} == line


def test_another_edit_does_not_look_at_the_line(make: Make) -> None:
    """Who waits behind others there is looked at in its turn."""
    routine = make(concurrency_policy="QUEUE", every="10m")
    later = MONDAY + LOOK_LATER
    run = waiting_run(routine, 1, admitted_at=None, publish_after=later, reason="overlap")
    service.update_routine(routine.pk, description="new")
    run.refresh_from_db()
    assert run.publish_after == later
