"""The oracle and rotations: content with what ticks and members do, and not with a ledger that somebody forged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import RunTrigger
from routines_app.models import RoutineRun, new_run_id
from tests.integration.conftest import NOTE, Hours
from tests.integration.protocol.end.finishing import BROKEN
from tests.integration.ticking import end_all, fired, first, pass_ticks, picked, saw, say, tick_of
from tests.oracle import Verdict, judge


@pytest.fixture
def feeds(hours: Hours, redis_url: str) -> Hours:
    """Some ticks of a rotation whose members fail at first: they have three attempts by themselves, and one here."""
    service.create_rotation("feeds", every="10m", budget=2, fresh_for="1h", task=NOTE)
    service.add_members("feeds", ["a", "b", "c"])
    pass_ticks(hours, 2, BROKEN)
    pass_ticks(hours, 4)
    return hours


def judged(hours: Hours) -> Verdict:
    return judge(until=hours.now - timedelta(minutes=1))


def test_it_is_content_with_ticks_and_members(feeds: Hours) -> None:
    service.run_now("a")
    end_all(BROKEN)
    assert judged(feeds).balances, judged(feeds).page()


def fire_beyond_the_budget() -> None:
    tick = tick_of(first(fired()))
    say(tick, budget=len(saw(tick)["picked"]) - 1)


def fire_whom_nobody_picked() -> None:
    say(first(picked()), picked=[])


def fire_without_a_tick() -> None:
    RoutineRun.objects.filter(pk=first(fired()).pk).update(tick=new_run_id())


def fly_twice() -> None:
    run = first(fired().filter(status="SUCCESS"))
    run.pk, run.tick, run.trigger, run.idempotency_key = new_run_id(), None, RunTrigger.MANUAL, "m:forged"
    assert run.completed_at is not None
    run.completed_at += timedelta(minutes=2)
    run.save(force_insert=True)


@pytest.mark.parametrize(
    ("forge", "kind"),
    [
        (fire_beyond_the_budget, "ceilings"),
        (fire_whom_nobody_picked, "unexpected"),
        (fire_without_a_tick, "unexpected"),
        (fly_twice, "overlaps"),
    ],
)
def test_a_forged_rotation_is_named(feeds: Hours, forge: Callable[[], None], kind: str) -> None:
    forge()
    assert kind in judged(feeds).faults
