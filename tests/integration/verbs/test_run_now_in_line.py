"""A request by hand for a QUEUE routine whose slots wait for room: nothing of them has begun, so it goes first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.verbs import run_now as module
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db

QUEUES = {"admitted_at": None, "publish_after": None, "reason": "ceiling"}


@pytest.fixture
def full() -> Pool:
    """A pool of one, which the blocker fills."""
    return service.create_pool("db", max_concurrent=1)


@pytest.fixture
def blocker(make: Make, full: Pool) -> RoutineRun:
    return running_run(make("blocker", pool=full), 1, pool=full)


def end(run: RoutineRun) -> None:
    RoutineRun.objects.filter(pk=run.pk).update(status="SUCCESS", completed_at=MONDAY)


def sent(time: Time) -> list[str]:
    """What a look lets go, by the names of the routines."""
    now = time.pass_by(seconds=2)
    return [message.routine for message in (*dispatch_waiting(now), *admit_pools(now))]


def stands(run: RoutineRun) -> tuple[str, str]:
    run.refresh_from_db()
    return run.status, run.reason


@pytest.mark.parametrize("policy", ["ALLOW", "QUEUE"])
def test_what_somebody_asked_for_goes_before_its_routines_own_slot(
    make: Make, time: Time, full: Pool, blocker: RoutineRun, policy: str
) -> None:
    """Which waits for room behind others of a higher band, and would hold the request there."""
    routine = make("asked", pool=full, priority="LOW", concurrency_policy=policy, every="10m")
    slot = waiting_run(routine, 2, pool=full, **QUEUES)
    waiting_run(make("other", pool=full, priority="HIGH"), 3, pool=full, **QUEUES)
    asked = service.run_now(routine.pk)
    assert stands(asked) == ("PENDING", "ceiling")
    assert stands(slot) == ("PENDING", "overlap" if policy == "QUEUE" else "ceiling")
    end(blocker)
    assert sent(time) == ["asked"]
    asked.refresh_from_db()
    assert asked.admitted_at is not None


def test_the_slot_goes_when_the_request_has_ended(make: Make, time: Time, full: Pool, blocker: RoutineRun) -> None:
    """It has lost its place and nothing else; until then only one of the two takes room."""
    service.update_pool(full, max_concurrent=3)
    routine = make("asked", pool=full, concurrency_policy="QUEUE", every="10m")
    slot = waiting_run(routine, 2, pool=full, **QUEUES)
    asked = service.run_now(routine.pk)
    assert sent(time) == ["asked"]
    assert (stands(asked), stands(slot)) == (("PENDING", ""), ("PENDING", "overlap"))
    service.cancel_run(asked)
    assert sent(time) == ["asked"]
    assert stands(slot) == ("PENDING", "")


def test_no_slot_is_skipped_for_a_request(make: Make, full: Pool, blocker: RoutineRun) -> None:
    """At most one slot waits in line: where another does already, the one in the pool's queue stays there."""
    routine = make("asked", pool=full, concurrency_policy="QUEUE", every="10m")
    older = waiting_run(routine, 2, pool=full, scheduled_for=MONDAY - timedelta(minutes=10), **QUEUES)
    newer = waiting_run(routine, 3, pool=full, **QUEUES | {"publish_after": MONDAY, "reason": "overlap"})
    assert stands(service.run_now(routine.pk)) == ("PENDING", "overlap")
    assert (stands(older), stands(newer)) == (("PENDING", "ceiling"), ("PENDING", "overlap"))


def test_slots_that_another_policy_let_into_the_queue_stay_there(make: Make, full: Pool, blocker: RoutineRun) -> None:
    """However many there are, and only some of them read: a request waits behind them."""
    routine = make("asked", pool=full, concurrency_policy="ALLOW", every="10m")
    for number in range(2, 52):
        at = MONDAY - timedelta(minutes=10 * (60 - number))
        waiting_run(routine, number, pool=full, scheduled_for=at, **QUEUES)
    service.update_routine("asked", concurrency_policy="QUEUE")
    asked = service.run_now("asked")
    assert stands(asked) == ("PENDING", "overlap")
    slots = RoutineRun.objects.filter(routine=routine).exclude(pk=asked.pk)
    assert set(slots.values_list("status", "reason")) == {("PENDING", "ceiling")}


@pytest.mark.parametrize("ahead", [{"trigger": "retry", "attempt": 2}, {"admitted_at": MONDAY, "reason": ""}])
def test_what_has_begun_is_not_overtaken(make: Make, full: Pool, blocker: RoutineRun, ahead: dict[str, Any]) -> None:
    """A chain goes on first, and what was let through is on its way."""
    routine = make("asked", pool=full, concurrency_policy="QUEUE", every="10m")
    first = waiting_run(routine, 2, pool=full, **QUEUES | ahead)
    before = stands(first)
    assert stands(service.run_now(routine.pk)) == ("PENDING", "overlap")
    assert stands(first) == before


def test_a_slot_that_its_pool_lets_through_meanwhile_is_waited_for(
    make: Make, full: Pool, blocker: RoutineRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fills the pool holds its lock and not the state's: it may come between the look and the deed."""
    routine = make("asked", pool=full, concurrency_policy="QUEUE", every="10m")
    slot = waiting_run(routine, 2, pool=full, **QUEUES)
    look = module.active_runs

    def let_through_after(*args: Any) -> Any:
        found = look(*args)
        RoutineRun.objects.filter(pk=slot.pk).update(admitted_at=MONDAY, publish_after=MONDAY, reason="")
        return found

    monkeypatch.setattr(module, "active_runs", let_through_after)
    asked = service.run_now(routine.pk)
    assert (stands(asked), asked.publish_after) == (("PENDING", "overlap"), MONDAY + LOOK_AGAIN)
    assert stands(slot) == ("PENDING", "")
