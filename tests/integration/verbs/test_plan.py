"""The coming fires of all routines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import Source
from routines_app.models import Routine, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.verbs.plan import in_order
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)


def fires(**options: object) -> list[tuple[str, timedelta]]:
    return [(fire.name, fire.slot - TEN) for fire in service.plan(**options)]  # type: ignore[arg-type]


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def test_fires_of_all_routines_come_in_order(make: Make) -> None:
    """Merged by time, within the horizon."""
    make("hourly", cron="0 * * * *")
    make("often", cron="*/20 * * * *")
    make("manual")
    assert fires(horizon="61m") == [
        ("often", minutes(20)),
        ("often", minutes(40)),
        ("hourly", minutes(60)),
        ("often", minutes(60)),
    ]


def test_a_limit_stops_early_and_reads_little(make: Make) -> None:
    """Cost follows the limit: one statement, however many routines there are."""
    for number in range(30):
        make(f"r{number:02}", every=f"{number + 1}m")
    with CaptureQueriesContext(connection) as queries:
        found = service.plan(horizon="30d", limit=5)
    assert len(found) == 5
    assert len(queries) == 1
    assert found[0].source == Source.BASELINE_INTERVAL


def test_chosen_routines_only(make: Make) -> None:
    """By name, id or instance, one or several."""
    one = make("one", every="10m")
    make("two", every="15m")
    make("three", every="20m")
    assert {name for name, _ in fires(routines=[one, "three"], horizon="1h")} == {"one", "three"}
    assert {name for name, _ in fires(routines="two", horizon="1h")} == {"two"}


def test_a_pause_with_an_end_shows_what_comes_after_it(make: Make) -> None:
    """A pause without an end shows nothing."""
    service.pause_routine(make("back", cron="0 * * * *"), until=TEN + minutes(150))
    service.pause_routine(make("gone", cron="0 * * * *"))
    assert fires(horizon="4h") == [("back", minutes(180)), ("back", minutes(240))]


def test_a_one_shot_is_shown_once_and_the_schedule_goes_on(make: Make) -> None:
    """The hint is an extra fire."""
    routine = make(cron="0 * * * *")
    service.propose_next_time(routine, TEN + minutes(30), ttl="1h")
    assert [slot for _, slot in fires(horizon="2h")] == [minutes(30), minutes(60), minutes(120)]


def test_an_interval_hint_is_followed_until_it_expires(make: Make) -> None:
    """Then the baseline takes over."""
    routine = make(cron="0 * * * *")
    service.propose_interval(routine, "20m", ttl="45m")
    slots = [slot for _, slot in fires(horizon="2h")]
    assert slots[:2] == [minutes(20.5), minutes(40.5)]
    assert slots[-1] == minutes(120)


def test_an_overdue_routine_shows_its_oldest_slot_and_then_the_future(make: Make, time: Time) -> None:
    """What a beat will make of the missed ones is not a plan."""
    make(every="10m")
    time.pass_by(minutes=35)
    assert [slot for _, slot in fires(horizon="20m")] == [minutes(10.5), minutes(40.5), minutes(50.5)]


def test_a_failing_interval_is_planned_with_its_back_off(make: Make) -> None:
    """The plan is the governor's."""
    routine = make(every="10m")
    routine.state.failure_count = 1
    routine.state.save()
    assert [slot for _, slot in fires(horizon="35m")] == [minutes(10.5), minutes(30.5)]


def test_a_plan_that_makes_no_sense_is_refused(make: Make) -> None:
    """Horizon and limit are bounded."""
    for options in ({"horizon": "0s"}, {"horizon": 3600}, {"limit": 0}, {"horizon": "1h", "limit": 10**9}):
        with pytest.raises(service.InvalidValue):
            service.plan(**options)  # type: ignore[arg-type]


def test_states_are_read_some_at_a_time_in_one_order(make: Make) -> None:
    """Also across what fires at the same moment: none twice, and none left out."""
    for number in range(5):
        make(f"r{number}", every="1h")
    RoutineState.objects.update(next_run_at=MONDAY, next_slot=MONDAY)
    later = make("later", every="2h")
    found = list(in_order(RoutineState.objects.filter(next_run_at__isnull=False), 2))
    assert [state.routine_id for state in found] == sorted(state.routine_id for state in found)
    assert (len(found), found[-1].routine_id) == (6, later.pk)


def test_what_is_claimed_while_many_are_read_comes_once(make: Make, time: Time) -> None:
    """It moves behind those that have been read, and is not met there again."""
    make("first", every="10m")
    make("second", every="15m")
    reading = in_order(RoutineState.objects.select_related("routine"), at_once=1)
    names = [next(reading).routine.name]
    time.pass_by(minutes=11)
    claim_due(time.now)
    names += [state.routine.name for state in reading]

    assert names == ["first", "second"]


@pytest.mark.parametrize("kind", [{"cron": "*/20 * * * *"}, {"every": "7m"}, {"cron": "0 0 1 1 *"}, {}])
def test_a_routine_that_was_read_with_its_state_is_planned_without_a_question(
    make: Make, time: Time, kind: dict[str, str]
) -> None:
    """As it would be when it is read again, on time and late."""
    made = make("one", **kind)
    for late in (timedelta(), minutes(50)):
        time.now = MONDAY + late
        read = Routine.objects.select_related("state").get(pk=made.pk)
        with CaptureQueriesContext(connection) as asked:
            found = service.plan_of(read, now=time.now, horizon="2h", limit=5)
        assert not asked.captured_queries
        assert found == service.plan(made, now=time.now, horizon="2h", limit=5)
