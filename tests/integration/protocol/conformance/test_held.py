"""Rows that somebody holds, by each way: what a beat leaves out, and what it takes all the same."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import transaction

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.claim import due
from routines_app.protocol.claim.due import Taken, take_due, take_these
from routines_app.protocol.publish import outbox, pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.integration.holding import held, key_of, needs_row_locks
from tests.integration.protocol.conformance.rows import MOMENT, SECOND, make_routine

pytestmark = [pytest.mark.django_db(transaction=True), needs_row_locks]

MODULES = (due, outbox, pools)


def due_at(moment: datetime, **values: object) -> Routine:
    return make_routine({"next_run_at": moment, "next_source": "baseline-cron"}, **values)


def ids_of(taken: Taken) -> tuple[list[int], list[int]]:
    return [row.routine_id for row in taken.rows], taken.held


def taken(**options: object) -> tuple[list[int], list[int]]:
    with transaction.atomic():
        return ids_of(take_due(MOMENT, 10, **options))


def test_due_routines_whose_keys_are_held_are_told_apart() -> None:
    """By the routine's row, by the pool's; one whose state is held is nobody's to take."""
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    first, second, third, fourth = (due_at(MOMENT - number * SECOND) for number in (4, 3, 2, 1))
    Routine.objects.filter(pk=third.pk).update(pool=pool)
    assert taken() == ([first.pk, second.pk, third.pk, fourth.pk], [])
    with (
        held("routine", "id", [first.pk]),
        held("pool", "id", [pool.pk]),
        held("routinestate", "routine_id", [fourth.pk]),
    ):
        assert taken() == ([second.pk], [first.pk, third.pk])
        with transaction.atomic():
            assert ids_of(take_these(MOMENT, [first.pk, second.pk, fourth.pk])) == ([second.pk], [first.pk])


def test_who_holds_the_default_pool_holds_only_those_that_name_it() -> None:
    """No run could refer to it now; the others get a run all the same, outside of it."""
    default, other = (Pool.objects.create(name=name, max_concurrent=1) for name in ("default", "other"))
    Pool.objects.filter(pk=default.pk).update(is_default=True)
    none, named, own = due_at(MOMENT - 2 * SECOND), due_at(MOMENT - SECOND, pool=other), due_at(MOMENT, pool=default)
    with held("pool", "id", [default.pk]), transaction.atomic():
        found = take_due(MOMENT, 10)
    assert (ids_of(found), found.outside) == (([none.pk, named.pk], [own.pk]), {none.pk})
    assert taken() == ([none.pk, named.pk, own.pk], [])


def test_routines_that_are_set_aside_take_no_place() -> None:
    first, second = due_at(MOMENT - SECOND), due_at(MOMENT)
    assert taken(without=[first.pk]) == ([second.pk], [])
    assert taken(without=[first.pk, second.pk]) == ([], [])
    with transaction.atomic():
        assert ids_of(take_due(MOMENT, 1, without=[first.pk])) == ([second.pk], [])


def waiting_runs(count: int, **values: object) -> list[RoutineRun]:
    routine = make_routine()
    return [
        RoutineRun.objects.create(
            routine=routine,
            trigger="schedule",
            task="t",
            scheduled_for=MOMENT,
            eligible_at=MOMENT,
            idempotency_key=f"s:{routine.pk}:{number}:1",
            **values,
        )
        for number in range(count)
    ]


def test_a_stamp_leaves_out_what_is_held() -> None:
    """After it has waited a moment; in whatever order they are given."""
    runs = waiting_runs(3, admitted_at=MOMENT, publish_after=MOMENT)
    with held("routinerun", "id", [key_of(runs[0].pk)]):
        assert outbox.stamp([str(run.pk) for run in reversed(runs)], MOMENT) == 2
    stamped = RoutineRun.objects.filter(dispatched_at=MOMENT, publish_count=1).values_list("pk", flat=True)
    assert set(stamped) == {runs[1].pk, runs[2].pk}


def test_a_pool_lets_in_what_is_not_held() -> None:
    pool = Pool.objects.create(name="narrow", max_concurrent=2)
    runs = waiting_runs(3, pool=pool)
    with held("routinerun", "id", [key_of(runs[0].pk)]):
        messages = pools.admit_pools(MOMENT)
    assert {message.run_id for message in messages} == {str(runs[1].pk), str(runs[2].pk)}


def test_a_run_that_was_held_when_a_pool_became_the_default_is_taken_in_before_it_goes() -> None:
    """It could not be taken in then; whoever looks at it first, when it is free, does."""
    (run,) = waiting_runs(1, publish_after=MOMENT)
    with held("routinerun", "id", [key_of(run.pk)]):
        pool = service.create_pool("default", max_concurrent=1, is_default=True)
        assert dispatch_waiting(MOMENT) == []
    run.refresh_from_db()
    assert run.pool_id is None
    assert dispatch_waiting(MOMENT) == []
    run.refresh_from_db()
    assert (run.pool_id, run.reason, run.admitted_at) == (pool.pk, "ceiling", None)


def test_while_somebody_holds_the_default_pool_nothing_goes_past_it() -> None:
    """What belongs to another pool, or to none when there is none, is judged all the same."""
    default, other = (Pool.objects.create(name=name, max_concurrent=1) for name in ("default", "other"))
    outside, named = waiting_runs(2, publish_after=MOMENT)
    RoutineRun.objects.filter(pk=named.pk).update(pool=other)
    Pool.objects.filter(pk=default.pk).update(is_default=True)
    with held("pool", "id", [default.pk]):
        assert dispatch_waiting(MOMENT) == []
        standing = dict(RoutineRun.objects.values_list("pk", "reason"))
        assert standing == {outside.pk: "", named.pk: "ceiling"}
    assert dispatch_waiting(MOMENT + LOOK_AGAIN) == []
    outside.refresh_from_db()
    assert (outside.pool_id, outside.reason) == (default.pk, "ceiling")


def test_a_batch_that_waits_for_the_default_pool_does_not_hide_the_others() -> None:
    """Nobody can take it in while somebody holds the pool, so it makes way."""
    default, other = (Pool.objects.create(name=name, max_concurrent=1) for name in ("default", "other"))
    *outside, named = waiting_runs(4, publish_after=MOMENT)
    RoutineRun.objects.filter(pk=named.pk).update(pool=other, publish_after=MOMENT + SECOND / 2)
    Pool.objects.filter(pk=default.pk).update(is_default=True)
    with held("pool", "id", [default.pk]):
        for _ in range(2):
            dispatch_waiting(MOMENT + SECOND / 2, limit=len(outside))
    named.refresh_from_db()
    assert named.reason == "ceiling"
