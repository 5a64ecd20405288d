"""A request that was made before, and still waits, is not made again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]


def test_a_repeated_key_returns_the_first_run(make: Make) -> None:
    """A double click is one run; the same key on another routine is another."""
    one, other = make("one"), make("other")
    first = service.run_now(one, idempotency_key="click-7")
    assert service.run_now(one, idempotency_key="click-7").pk == first.pk
    assert service.run_now(other, idempotency_key="click-7").pk != first.pk
    assert RoutineRun.objects.count() == 2


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID", "REPLACE"])
def test_a_request_that_still_waits_is_not_made_again(make: Make, policy: str) -> None:
    """Whatever the policy: neither a second run, nor a SKIPPED one, nor one that replaces it."""
    Pool.objects.create(name="slow", max_concurrent=1)
    routine = make(pool="slow", concurrency_policy=policy)
    first = service.run_now(routine, requested_by="ann")
    assert (first.status, first.requested_at) == (RunStatus.PENDING, MONDAY)
    again = service.run_now(routine, requested_by="bob")
    assert (again.pk, again.status, again.requested_by) == (first.pk, RunStatus.PENDING, "ann")
    assert RoutineRun.objects.count() == 1


def test_a_request_in_other_words_is_another_one(make: Make, time: Time) -> None:
    """Other arguments, a key, or a routine that does something else by now."""
    routine = make(pool=Pool.objects.create(name="slow", max_concurrent=1), args=[1])
    plain = service.run_now(routine)
    same = service.run_now(routine, args=[1])
    assert same.pk != plain.pk, "the routine's own arguments follow its edits, given ones do not"
    assert service.run_now(routine, args=[1]).pk == same.pk
    assert service.run_now(routine, args=[True]).pk not in {plain.pk, same.pk}
    keyed = service.run_now(routine, idempotency_key="mine")
    assert keyed.pk not in {plain.pk, same.pk}
    service.cancel_run(plain)
    assert service.run_now(routine).pk not in {plain.pk, keyed.pk}, "what has a key is asked for by that"
    service.update_routine(routine, queue="other")
    assert service.run_now(routine).queue == "other"


@pytest.mark.parametrize(
    "values",
    [
        {"dispatched_at": MONDAY},
        {"status": RunStatus.RUNNING, "started_at": MONDAY},
        {"trigger": RunTrigger.RETRY},
        {"trigger": RunTrigger.SCHEDULE},
    ],
)
def test_what_is_gone_or_nobody_asked_for_is_no_request_that_waits(make: Make, values: dict[str, Any]) -> None:
    """A worker may have it by now; a retry waits for its time, which is not now."""
    routine = make()
    waiting_run(routine, 1, **{"trigger": RunTrigger.MANUAL, "requested_at": MONDAY} | values)
    assert service.run_now(routine).idempotency_key != "test:1"


def test_a_request_that_waits_in_another_pool_is_another_one(make: Make) -> None:
    """There it waits for other room. What the default pool has not taken in yet waits in none."""
    for name in ("slow", "quick"):
        service.create_pool(name, max_concurrent=1)
    routine = make(pool="slow")
    first = service.run_now(routine)
    service.update_routine(routine, pool="quick")
    second = service.run_now(routine)
    assert (second.pk != first.pk, second.pool.name) == (True, "quick")  # type: ignore[union-attr]
    assert service.run_now(routine).pk == second.pk
    service.update_routine(routine, pool=None)
    unpooled = service.run_now(routine)
    service.update_pool("slow", is_default=True)
    assert service.run_now(routine).pk == first.pk
    RoutineRun.objects.filter(pk=first.pk).delete()
    RoutineRun.objects.filter(pk=unpooled.pk).update(pool=None)
    assert service.run_now(routine).pk == unpooled.pk
