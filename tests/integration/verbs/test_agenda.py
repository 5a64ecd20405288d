"""The agenda: coming fires, load, and what would collide in a pool."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import Routine
from routines_app.verbs import agenda as agenda_module
from tests.browser.scenes import ended
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)
MINUTE = timedelta(minutes=1)


def test_the_next_hour_is_told_by_the_minute(make: Make) -> None:
    """Every fire is in its minute, and the first ones are listed in order."""
    make("hourly", cron="0 * * * *")
    make("often", cron="*/20 * * * *")
    found = service.agenda(limit=3)
    assert (found.step, found.load[0].begin, found.reaches) == (MINUTE, TEN, found.until)
    assert {(load.begin - TEN) // MINUTE: load.fires for load in found.load if load.fires} == {20: 1, 40: 1, 60: 2}
    assert [(fire.name, (fire.slot - TEN) // MINUTE) for fire in found.fires] == [
        ("often", 20),
        ("often", 40),
        ("hourly", 60),
    ]
    assert found.more
    assert not any(load.is_estimate for load in found.load)


def test_a_day_is_told_by_the_quarter_of_an_hour(make: Make) -> None:
    """97 of them: the first and the last one are cut by the present."""
    make("quarterly", cron="5,20,35,50 * * * *")
    found = service.agenda(horizon="1d")
    assert (found.step, len(found.load)) == (15 * MINUTE, 97)
    assert sum(load.fires for load in found.load) == 96


def test_it_is_about_a_pool_a_tag_or_a_queue(make: Make) -> None:
    """Alone, or together."""
    service.create_pool("db", max_concurrent=2)
    make("pooled", cron="*/30 * * * *", pool="db", tags=["a"])
    make("tagged", cron="*/30 * * * *", tags=["a", "b"])
    make("queued", cron="*/30 * * * *", queue="slow")
    for chosen, names in (
        ({"pool": "db"}, {"pooled"}),
        ({"tag": "a"}, {"pooled", "tagged"}),
        ({"queue": "slow"}, {"queued"}),
        ({"tag": "a", "pool": "db"}, {"pooled"}),
        ({}, {"pooled", "tagged", "queued"}),
    ):
        found = service.agenda(**chosen)  # type: ignore[arg-type]
        assert {fire.name for fire in found.fires} == names


@pytest.mark.parametrize(
    ("wrong", "field"), [({"horizon": "2d"}, "horizon"), ({"pool": "nowhere"}, "pool"), ({"limit": 0}, "limit")]
)
def test_what_cannot_be_is_refused(make: Make, wrong: dict[str, object], field: str) -> None:
    """By the field that is wrong."""
    with pytest.raises(service.RoutineError, match=field):
        service.agenda(**wrong)  # type: ignore[arg-type]


def test_minutes_in_which_a_pool_is_too_small_are_named(make: Make, time: Time) -> None:
    """Three that take 90 seconds meet at a pool for two; one that runs alone takes one place however often it comes."""
    service.create_pool("db", max_concurrent=2)
    for name in "abc":
        routine = make(name, cron="30 * * * *", pool="db")
        for days in (1, 2):
            ended(routine, time.now - timedelta(days=days), 90)
    alone = make("alone", cron="* * * * *", pool="db", concurrency_policy="FORBID")
    make("new", cron="50 * * * *", pool="db")
    (pool,) = service.agenda().pools
    assert (pool.name, pool.max_concurrent, pool.unmeasured) == ("db", 2, 2)
    assert [(begin - TEN) // MINUTE for begin in pool.crowded] == [30, 31]
    assert pool.peaks[30] == 4
    assert pool.peaks[50] == 2
    ended(alone, time.now - timedelta(days=1), 1000)
    (pool,) = service.agenda().pools
    assert (pool.peaks[29], pool.unmeasured) == (1, 1)


def test_a_default_pool_has_those_that_name_none(make: Make) -> None:
    """They count against its ceiling when they run; without one they are in no pool."""
    make("report", cron="30 * * * *")
    assert service.agenda().pools == ()
    service.create_pool("all", max_concurrent=1, is_default=True)
    assert [pool.fires for pool in service.agenda().pools] == [1]


def test_of_a_large_fleet_the_rest_is_counted_by_schedules(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The load reaches over the whole hour, and says from where on it is an estimate; the list ends before."""
    monkeypatch.setattr(agenda_module, "COMPUTED", 30)
    agenda_module._by_schedule.cache_clear()
    make("each-minute", cron="* * * * *")
    make("too", cron="* * * * *")
    found = service.agenda(limit=31)
    agenda_module._by_schedule.cache_clear()
    assert len(found.fires) == 31
    assert TEN + 15 * MINUTE <= found.reaches <= TEN + 17 * MINUTE
    assert [load.fires for load in found.load[1:61]] == [2] * 60
    assert [load.is_estimate for load in found.load[:14]] == [False] * 14
    assert all(load.is_estimate for load in found.load[17:])


def test_no_more_routines_are_read_than_fires_are_computed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when all of them fire at one moment."""
    monkeypatch.setattr(agenda_module, "COMPUTED", 2)
    agenda_module._by_schedule.cache_clear()
    for number in range(6):
        make(f"r{number}", cron="30 * * * *")
    found = service.agenda(limit=2)
    agenda_module._by_schedule.cache_clear()
    assert len(found.fires) == 2
    assert found.more
    assert sum(load.fires for load in found.load) == 6
    assert found.reaches == TEN + 30 * MINUTE


def test_it_asks_a_fixed_number_of_questions(make: Make) -> None:
    """However many routines there are: their states, the pools, the last runs."""
    service.create_pool("db", max_concurrent=2)
    make("first", cron="* * * * *", pool="db")
    with CaptureQueriesContext(connection) as few:
        service.agenda()
    for number in range(3):  # 240 fires: of more than 300 the load is counted by schedules, with two questions
        make(f"r{number}", cron="* * * * *", pool="db")
    with CaptureQueriesContext(connection) as many:
        service.agenda()
    assert len(few) == len(many) == 3
