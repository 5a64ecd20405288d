"""Creating routines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from routines_app import service
from routines_app.core.words import RoutineStatus, Source, TriggerKind
from routines_app.models import ChangeKind, Pool, Routine, RoutineState, ScheduleChange
from tests.integration.conftest import MONDAY, NOTE

Make = Callable[..., Routine]


def test_a_cron_routine_is_planned_at_its_next_slot(make: Make) -> None:
    """A new cron routine waits for the first slot after now."""
    routine = make(cron="0 * * * *", timezone="Europe/Paris")
    assert routine.trigger_kind == TriggerKind.CRON
    assert routine.state.next_slot == routine.state.next_run_at == MONDAY.replace(hour=11, minute=0, second=0)
    assert routine.state.next_source == Source.BASELINE_CRON


@pytest.mark.parametrize(
    "interval", [{"every": every} for every in (timedelta(seconds=90), "90s", "1.5 min")] + [{"interval_ms": 90_000}]
)
def test_an_interval_is_a_timedelta_text_or_milliseconds(make: Make, interval: dict[str, Any]) -> None:
    """The ways of writing an interval mean the same, and the first fire comes one interval after the creation."""
    routine = make(**interval)
    assert (routine.trigger_kind, routine.interval_ms, routine.cron) == (TriggerKind.INTERVAL, 90_000, "")
    assert routine.state.next_slot == MONDAY + timedelta(seconds=90)


def test_without_cron_and_every_nothing_is_planned(make: Make) -> None:
    """A MANUAL routine is nothing for a beat to look at."""
    routine = make()
    assert routine.trigger_kind == TriggerKind.MANUAL
    assert (routine.state.next_slot, routine.state.next_run_at) == (None, None)


def test_the_first_slot_of_an_interval_is_its_start(make: Make) -> None:
    """`start_at` bounds the slots inclusively: it is the first one."""
    start = MONDAY + timedelta(hours=2)
    assert make(every="10m", start_at=start).state.next_slot == start


def test_an_interval_with_a_past_start_keeps_to_its_grid(make: Make) -> None:
    """Slots are counted from the start, however long ago that was."""
    start = MONDAY - timedelta(minutes=25)
    assert make(every="10m", start_at=start).state.next_slot == MONDAY + timedelta(minutes=5)


def test_a_schedule_that_is_over_is_ended(make: Make) -> None:
    """After `end_at` the routine is ACTIVE and has nothing more to fire."""
    routine = make(cron="0 * * * *", end_at=MONDAY - timedelta(days=1))
    assert routine.status == RoutineStatus.ACTIVE
    assert (routine.state.next_run_at, routine.state.next_source) == (None, Source.ENDED)


def test_policies_are_field_names_with_readable_durations(make: Make) -> None:
    """Every other field is a keyword; durations are written as people write them; names find pools and parents."""
    Pool.objects.create(name="slow", max_concurrent=2)
    make("parent")
    routine = make(
        every="1h",
        pool="slow",
        parent="parent",
        timeout_ms="10m",
        jitter_ms="30s",
        catch_up_policy="last",
        catch_up_window_ms="2d",
        priority="HIGH",
        tags=["a", "b", "a"],
        args=(1, "two"),
        kwargs={"three": [3]},
    )
    stored = Routine.objects.get(name="report")
    assert (stored.pool and stored.pool.name, stored.parent and stored.parent.name) == ("slow", "parent")
    assert (stored.timeout_ms, stored.jitter_ms, stored.catch_up_window_ms) == (600_000, 30_000, 172_800_000)
    assert (stored.catch_up_policy, stored.priority, stored.tags, stored.depth) == ("LAST", "HIGH", ["a", "b"], 1)
    assert (stored.args, stored.kwargs, routine.pk) == ([1, "two"], {"three": [3]}, stored.pk)


def test_the_timezone_is_the_projects_unless_it_is_given(make: Make, settings: Any) -> None:
    """DEFAULT_TIMEZONE comes before Django's TIME_ZONE."""
    settings.ROUTINES = settings.ROUTINES | {"DEFAULT_TIMEZONE": "Asia/Tokyo"}
    assert make(cron="0 9 * * *").timezone == "Asia/Tokyo"


def test_a_creation_is_in_the_history(make: Make) -> None:
    """Who, why and what: the audit starts here."""
    routine = make(cron="0 * * * *", actor="ann", reason="asked for")
    change = ScheduleChange.objects.get()
    assert (change.kind, change.actor, change.reason) == (ChangeKind.CREATED, "ann", "asked for")
    assert (change.after["cron"], change.next_slot) == ("0 * * * *", routine.state.next_slot)


def test_a_task_object_stands_for_its_name(make: Make) -> None:
    """`task=note` works as well as its name."""
    from tests.acceptance.tasks import note

    assert make(task=note).task == NOTE


@pytest.mark.django_db(transaction=True)
def test_two_creations_of_one_name_at_once_give_one_routine() -> None:
    """The race for a name has one winner, and the other gets DuplicateName, not a database error."""
    barrier = threading.Barrier(2)
    outcomes: list[str] = []

    def create() -> None:
        barrier.wait()
        try:
            outcomes.append(service.create_routine("same", task=NOTE).name)
        except service.DuplicateName:
            outcomes.append("duplicate")
        finally:
            connection.close()

    threads = [threading.Thread(target=create) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["duplicate", "same"]
    assert Routine.objects.count() == RoutineState.objects.count() == 1
