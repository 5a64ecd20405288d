"""Resuming: what becomes of the slots of a pause, and of the runs that it held."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service, signals
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)


def test_a_resume_lets_held_runs_go_when_they_are_eligible(make: Make, time: Time) -> None:
    """A retry that waits for its time goes on waiting for it."""
    routine = make(every="1d")
    due = waiting_run(routine, 1)
    later = waiting_run(routine, 2, eligible_at=MONDAY + timedelta(hours=5))
    service.pause_routine(routine)
    time.pass_by(hours=1)
    service.resume_routine(routine)
    due.refresh_from_db()
    later.refresh_from_db()
    assert (due.publish_after, due.reason) == (time.now, "")
    assert later.publish_after == MONDAY + timedelta(hours=5)


@pytest.mark.parametrize("release", ["SKIP", "LAST", "ALL"])
def test_a_resume_of_an_active_routine_changes_nothing(make: Make, time: Time, release: str) -> None:
    """It asks for what is so already; a slot that is due stays due."""
    routine = make(every="1h")
    time.pass_by(hours=2)
    before = Routine.objects.values().get(), RoutineState.objects.values().get()
    assert service.resume_routine(routine, release=release).status == RoutineStatus.ACTIVE
    assert (Routine.objects.values().get(), RoutineState.objects.values().get()) == before
    assert [change.kind for change in ScheduleChange.objects.all()] == [ChangeKind.CREATED]
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize("status", ["PARKED", "ARCHIVED"])
def test_a_resume_of_what_is_neither_paused_nor_active_is_refused(make: Make, status: str) -> None:
    routine = make(every="1h")
    Routine.objects.update(status=status)
    with pytest.raises(service.NotAllowed, match="needs a PAUSED routine; reset a PARKED one"):
        service.resume_routine(routine)


def test_skip_writes_the_pause_as_one_row(make: Make, time: Time) -> None:
    """Time spent paused is one SKIPPED row with a count, and the plan starts from now."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    time.pass_by(hours=5)
    service.resume_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.PAUSED, 5)
    assert (run.scheduled_for, run.scheduled_until) == (TEN + timedelta(hours=1), TEN + timedelta(hours=5))
    state = RoutineState.objects.get()
    assert state.next_slot == state.next_run_at == run.next_planned_for == TEN + timedelta(hours=6)
    assert (routine.status, routine.paused_until, routine.pause_reason) == (RoutineStatus.ACTIVE, None, "")


def test_the_slots_of_a_pause_are_told(make: Make, time: Time, django_capture_on_commit_callbacks: Any) -> None:
    """One signal for the one row."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    time.pass_by(hours=5)
    told: list[Any] = []

    def receive(run: RoutineRun, routine: Routine, reason: str, **_: Any) -> None:
        told.append((routine.name, reason, run.occurrences))

    signals.run_skipped.connect(receive)
    with django_capture_on_commit_callbacks(execute=True):
        service.resume_routine(routine)
    signals.run_skipped.disconnect(receive)
    assert told == [("report", Reason.PAUSED, 5)]


def test_skip_counts_intervals_arithmetically_and_keeps_their_grid(make: Make, time: Time) -> None:
    """A year of seconds costs nothing, and the next slot is where it would have been."""
    routine = make(every="1s")
    service.pause_routine(routine)
    time.pass_by(days=365, milliseconds=500)
    service.resume_routine(routine)
    run = RoutineRun.objects.get()
    assert run.occurrences == 365 * 86_400
    assert RoutineState.objects.get().next_slot == time.now + timedelta(milliseconds=500)


def test_a_pause_without_slots_leaves_no_row(make: Make, time: Time) -> None:
    """Nothing was kept from firing, so there is nothing to say."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    time.pass_by(minutes=5)
    service.resume_routine(routine)
    assert not RoutineRun.objects.exists()


def test_cron_slots_that_a_hint_went_past_are_accounted_for_by_its_next_moment(make: Make, time: Time) -> None:
    """They would not have fired without the pause either, and are not lost; the pace goes on from its last slot."""
    routine = make(cron="0 * * * *")
    service.propose_interval(routine, "6h", ttl="1d")
    time.pass_by(hours=1)
    claim_due(time.now)  # the slot that was planned before the hint
    service.pause_routine(routine)
    time.pass_by(hours=3)
    service.resume_routine(routine)
    assert RoutineState.objects.get().next_slot == TEN + timedelta(hours=7)
    time.pass_by(hours=3)
    claim_due(time.now)
    run = RoutineRun.objects.get(status="SKIPPED")
    assert (run.reason, run.occurrences) == (Reason.SUPERSEDED, 5)


def test_a_person_can_see_what_a_resume_would_release(make: Make, time: Time) -> None:
    """The question writes nothing."""
    routine = make(cron="0 * * * *")
    service.pause_routine(routine)
    assert service.slots_to_release(routine) is None
    time.pass_by(hours=3)
    span = service.slots_to_release(routine)
    assert span is not None
    assert (span.first, span.last, span.count) == (TEN + timedelta(hours=1), TEN + timedelta(hours=3), 3)
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize("trigger", [{"cron": "0 * * * *"}, {"every": "1h"}], ids=["cron", "interval"])
def test_last_releases_the_newest_slot_of_the_pause(make: Make, time: Time, trigger: dict[str, str]) -> None:
    """Whatever the routine's own policy is: the newest slot runs, the others are one SKIPPED row."""
    routine = make(**trigger, catch_up_policy="SKIP", misfire_grace_ms=0)
    service.pause_routine(routine)
    time.pass_by(hours=5, minutes=1)
    service.resume_routine(routine, release="last")
    assert RoutineState.objects.get().next_run_at == time.now
    claim_due(time.now)
    skipped, fired = RoutineRun.objects.order_by("scheduled_for")
    assert (skipped.status, skipped.reason, skipped.occurrences) == (RunStatus.SKIPPED, Reason.PAUSED, 4)
    assert (fired.status, fired.trigger) == (RunStatus.PENDING, RunTrigger.CATCH_UP)
    assert fired.scheduled_for - skipped.scheduled_for == timedelta(hours=4)
    state = RoutineState.objects.get()
    assert (state.release_policy, state.release_until) == ("", None)
    assert state.next_slot == fired.scheduled_for + timedelta(hours=1)


def test_all_releases_the_slots_one_after_another(make: Make, time: Time) -> None:
    """Each slot of the pause runs, oldest first, the next when the one before has ended."""
    routine = make(cron="0 * * * *", catch_up_policy="SKIP")
    service.pause_routine(routine)
    time.pass_by(hours=3)
    service.resume_routine(routine, release="ALL")
    for hour in (1, 2, 3):
        claim_due(time.now)
        claim_due(time.now)  # while the chain lasts there is nothing to claim
        run = RoutineRun.objects.get(status=RunStatus.PENDING)
        assert run.scheduled_for == TEN + timedelta(hours=hour)
        service.cancel_run(run)
    claim_due(time.now)
    assert not RoutineRun.objects.filter(status=RunStatus.PENDING).exists()
    state = RoutineState.objects.get()
    assert (state.next_slot, state.release_policy) == (TEN + timedelta(hours=4), "")


def test_a_release_is_one_of_three_words(make: Make) -> None:
    """What would be right is said."""
    routine = make(every="1h")
    service.pause_routine(routine)
    with pytest.raises(service.InvalidValue, match="SKIP, LAST, ALL"):
        service.resume_routine(routine, release="EVERYTHING")
    assert Routine.objects.get().status == RoutineStatus.PAUSED


def test_a_beat_ends_a_pause_whose_time_is_over(make: Make, time: Time) -> None:
    """The slots of the pause are skipped; the slot at its very end, and later ones, are not part of it."""
    routine = make(cron="0 * * * *", misfire_grace_ms="1d")
    service.pause_routine(routine, until=TEN + timedelta(hours=3))
    time.pass_by(hours=4)
    claim_due(time.now)
    claim_due(time.now)
    skipped, *fired = RoutineRun.objects.order_by("scheduled_for")
    assert (skipped.reason, skipped.occurrences) == (Reason.PAUSED, 2)
    assert [run.scheduled_for for run in fired] == [TEN + timedelta(hours=3), TEN + timedelta(hours=4)]
    assert [run.status for run in fired] == [RunStatus.SKIPPED, RunStatus.PENDING]
    assert fired[0].reason != Reason.PAUSED
    assert Routine.objects.get().status == RoutineStatus.ACTIVE
    kinds = list(ScheduleChange.objects.order_by("id").values_list("kind", flat=True))
    assert kinds == [ChangeKind.CREATED, ChangeKind.PAUSED, ChangeKind.RESUMED]


@pytest.mark.parametrize("trigger", [{"every": "10m"}, {"cron": "*/10 * * * *"}])
@pytest.mark.parametrize("late", [0, 5])
def test_the_slot_at_the_very_end_of_a_pause_fires(make: Make, time: Time, trigger: dict[str, str], late: int) -> None:
    """Also if the end is seen a little later."""
    routine = make(**trigger)
    end = RoutineState.objects.get().next_slot
    assert end is not None
    end += timedelta(minutes=20)
    service.pause_routine(routine, until=end)
    time.pass_by(seconds=(end - time.now).total_seconds() + late)
    while claim_due(time.now).claimed:
        pass
    skipped, fired = RoutineRun.objects.order_by("scheduled_for")
    assert (skipped.status, skipped.reason, skipped.occurrences) == (RunStatus.SKIPPED, Reason.PAUSED, 2)
    assert (fired.status, fired.scheduled_for) == (RunStatus.PENDING, end)


def test_a_long_pause_of_a_fine_cron_is_released_at_once(make: Make, time: Time) -> None:
    """Every second for ten years: one row, one look, and the next slot is the next second."""
    routine = make(cron="* * * * * *")
    service.pause_routine(routine)
    time.pass_by(days=3_650)
    span = service.slots_to_release(routine)
    assert span is not None
    assert span.count == 3_650 * 86_400
    service.resume_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.reason, run.occurrences) == (Reason.PAUSED, 3_650 * 86_400)
    assert run.scheduled_until == time.now
    state = RoutineState.objects.get()
    assert state.next_slot == run.next_planned_for == time.now + timedelta(seconds=1)
    assert (state.release_policy, state.release_until) == ("", None)
