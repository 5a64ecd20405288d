"""Hints: temporary changes of a schedule, planned at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import HintKind, Reason, Source
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]


def test_an_interval_hint_is_planned_at_once(make: Make) -> None:
    """It replaces the baseline while it lasts, and says why."""
    routine = make(cron="0 * * * *")
    service.propose_interval(routine, "5m", ttl="1h", reason="incident", actor="ann")
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_source) == (MONDAY + timedelta(minutes=5), Source.HINT_INTERVAL)
    (hint,) = state.fresh_hints(MONDAY)
    assert hint == (HintKind.INTERVAL, 300_000, MONDAY + timedelta(hours=1), "incident", "ann")
    change = ScheduleChange.objects.first()
    assert change is not None
    assert (change.kind, change.actor, change.next_slot) == (ChangeKind.HINTED, "ann", state.next_slot)


def test_a_one_shot_competes_with_the_schedule(make: Make) -> None:
    """The earlier one wins."""
    routine = make(cron="0 * * * *")
    service.propose_next_time(routine, MONDAY + timedelta(hours=2), ttl="1d")
    assert RoutineState.objects.get().next_source == Source.BASELINE_CRON
    service.propose_next_time(routine, MONDAY + timedelta(minutes=3), ttl="1d")
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_source) == (MONDAY + timedelta(minutes=3), Source.HINT_ONESHOT)


def test_a_one_shot_wakes_a_manual_routine(make: Make) -> None:
    """Without a schedule the hint is all there is."""
    routine = make()
    service.propose_next_time(routine, MONDAY + timedelta(minutes=3), ttl="1h")
    assert RoutineState.objects.get().next_run_at == MONDAY + timedelta(minutes=3)


def test_cleared_hints_leave_the_triggers_own_plan(make: Make) -> None:
    """As if there had been none."""
    routine = make(cron="0 * * * *")
    planned = RoutineState.objects.get().next_slot
    service.propose_interval(routine, "5m", ttl="1h")
    service.clear_hints(routine)
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_source) == (planned, Source.BASELINE_CRON)
    assert state.fresh_hints(MONDAY) == []
    change = ScheduleChange.objects.first()
    assert change is not None
    assert (change.kind, change.before["hint_interval_ms"], change.after["hint_interval_ms"]) == (
        ChangeKind.HINTS_CLEARED,
        300_000,
        None,
    )


def test_cron_slots_that_a_hint_went_past_are_accounted_for(make: Make, time: Time) -> None:
    """Clearing a long hint does not lose the slots that it had moved."""
    routine = make(cron="0 * * * *")
    service.propose_interval(routine, "6h", ttl="1d")
    claim_due(time.pass_by(hours=1))  # the slot that was planned before the hint
    time.pass_by(hours=3)
    service.clear_hints(routine)
    run = RoutineRun.objects.get(status="SKIPPED")
    assert (run.reason, run.occurrences) == (Reason.SUPERSEDED, 3)
    assert RoutineState.objects.get().next_slot == MONDAY.replace(hour=15, minute=0, second=0)


def test_a_hint_does_not_swallow_a_slot_that_is_due(make: Make, time: Time) -> None:
    """The claim fires it and plans with the hint afterwards."""
    routine = make(every="1h")
    time.pass_by(hours=1, seconds=1)
    service.propose_interval(routine, "5m", ttl="1h")
    state = RoutineState.objects.get()
    assert (state.next_slot, state.hint_interval_ms) == (MONDAY + timedelta(hours=1), 300_000)


def test_hints_that_make_no_sense_are_refused(make: Make) -> None:
    """Each error names its field."""
    routine = make(every="1h")
    for field, act in (
        ("interval", lambda: service.propose_interval(routine, "10", ttl="1h")),
        ("interval", lambda: service.propose_interval(routine, 600, ttl="1h")),
        ("ttl", lambda: service.propose_interval(routine, "10m", ttl="0s")),
        ("ttl", lambda: service.propose_interval(routine, "10m", ttl=3600)),
        ("at", lambda: service.propose_next_time(routine, MONDAY.replace(tzinfo=None), ttl="1h")),
        ("at", lambda: service.propose_next_time(routine, MONDAY + timedelta(hours=2), ttl="1h")),
        ("at", lambda: service.propose_next_time(routine, "2026-03-02T12:00:00")),
        ("at", lambda: service.propose_next_time(routine, "2026-02-31T12:00:00Z")),
        ("at", lambda: service.pause_until(routine, "tomorrow")),
        ("factor", lambda: service.propose_factor(0, routine=routine)),
        ("factor", lambda: service.propose_factor(float("nan"), routine=routine)),
        ("factor", lambda: service.propose_factor("2", routine=routine)),
        ("ttl", lambda: service.propose_factor(2, routine=routine, ttl="0s")),
        ("routine", lambda: service.propose_factor(2)),
        ("routine", lambda: service.propose_factor(2, routine=routine, tag="a")),
        ("routine", lambda: service.clear_hints()),
        ("tag", lambda: service.propose_factor(2, tag="")),
        ("group", lambda: service.propose_factor(2, group=7)),
    ):
        with pytest.raises(service.InvalidValue) as caught:
            act()
        assert caught.value.field == field
    assert RoutineState.objects.get().fresh_hints(MONDAY) == []
    assert ScheduleChange.objects.count() == 1


def test_however_many_slots_a_hint_goes_past_are_one_row(make: Make, time: Time) -> None:
    """A year's hint over a schedule of seconds: one row stands for every slot that it went past."""
    routine = make(cron="* * * * * *")
    service.propose_interval(routine, "360d", ttl="365d")
    claim_due(time.pass_by(seconds=1))
    time.pass_by(days=350)
    service.clear_hints(routine)
    skipped = RoutineRun.objects.get(status="SKIPPED")
    assert (skipped.reason, skipped.occurrences) == (Reason.SUPERSEDED, 350 * 86_400)
    assert skipped.scheduled_until == time.now
