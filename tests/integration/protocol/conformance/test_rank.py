"""Rank, by the database and by the core: the same order, whatever waits."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from routines_app.core.admission import Publish
from routines_app.core.room import PoolUsage, Queued, share_room, take_room
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.publish import pools
from routines_app.protocol.publish.ranked import in_rank_order
from tests.integration.protocol.conformance.rows import MOMENT, SECOND, make_routine, make_run

pytestmark = pytest.mark.django_db

MODULES = (pools,)
NOW = MOMENT + 60 * SECOND


def random_queue(seed: int, size: int, *, shallowest: int) -> Pool:
    """Waiting runs of all sorts, many alike in part: several requests of one routine, equal times, no success."""
    chance = random.Random(seed)
    pool = Pool.objects.create(name=f"pool {seed}", max_concurrent=1)
    routines = [
        make_routine(
            pool=pool,
            priority=chance.choice(["LOW", "MEDIUM", "HIGH"]),
            emphasis=chance.choice([0.0, 0.5, 1.0, 3.0, 100.0]),
            depth=shallowest + chance.choice([0, 0, 1, 2, 7]),
            status=chance.choice(["ACTIVE", "ACTIVE", "PAUSED"]),
            state={"last_success_at": chance.choice([None, NOW - chance.randrange(1, 10**6) * SECOND, NOW + SECOND])},
        )
        for _ in range(size // 2)
    ]
    for _ in range(size):
        asked = MOMENT - chance.randrange(5) * SECOND if chance.random() < 0.3 else None
        waiting = {"admitted_at": None, "publish_after": None, "reason": "ceiling", "requested_at": asked}
        make_run(chance.choice(routines), eligible_at=MOMENT - timedelta(seconds=chance.randrange(9)), **waiting)
    return pool


def waiting_in(pool: Pool) -> list[Queued]:
    """All of the queue, in no order, as the core is given it when it knows everything."""
    rows = pools._queue(NOW).filter(pool=pool).order_by("idempotency_key")
    return [
        Queued(
            run.id,
            run.routine_id,
            run.pool_id,
            run.requested_at,
            run.eligible_at,
            run.routine.priority,
            run.routine.emphasis,
            run.routine.depth,
            run.routine.state.last_success_at,
        )
        for run in rows.select_related("routine__state")
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_database_ranks_as_the_core_does(seed: int) -> None:
    """Overrides, bands, staleness with depth, age: row by row."""
    pool = random_queue(seed, 40, shallowest=seed % 3)
    random_queue(1_000 + seed, 6, shallowest=0)  # of another pool, which is no concern of this one
    everybody = waiting_in(pool)
    assert len(everybody) > 10
    expected = [placed.run.id for placed in share_room({}, everybody, NOW, depth_weight=0.5)]
    assert [run.id for run in pools._first_in_queue(pool.pk, 10_000, NOW)] == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_a_long_queue_is_ranked_as_the_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth counts from the shallowest of all that wait, also where that one was not read."""
    pool = random_queue(seed, 40, shallowest=1)
    usage = PoolUsage(ceiling=5, in_flight=0)
    expected = take_room(usage, waiting_in(pool), NOW, depth_weight=0.5)
    monkeypatch.setattr(pools, "SPARE", 0)
    part = pools._first_in_queue(pool.pk, 5, NOW)
    assert len(part) == 5
    assert [each.run.id for each in share_room({}, part, NOW, depth_weight=0.5)] == expected
    assert all(each.decision == Publish() for each in share_room({pool.pk: usage}, part, NOW, depth_weight=0.5))


def test_more_than_are_ranked_at_once_leave_nobody_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stalest goes first although it came last, behind more than one look reads."""
    monkeypatch.setattr(pools, "RANKED_AT_MOST", 3)
    pool = Pool.objects.create(name="pool", max_concurrent=1)
    waiting = {"admitted_at": None, "publish_after": None, "reason": "ceiling"}
    for minutes in range(1, 9):
        fresh = make_routine(pool=pool, state={"last_success_at": NOW - minutes * 60 * SECOND})
        make_run(fresh, eligible_at=MOMENT - 60 * SECOND, **waiting)
    never = make_run(make_routine(pool=pool), eligible_at=MOMENT, **waiting)
    assert [message.run_id for message in pools.admit_pools(NOW)] == [str(never.id)]
    assert RoutineRun.objects.filter(admitted_at=NOW).count() == 1


def test_the_queue_is_read_once() -> None:
    """Not once more for each request: thousands of one routine would take longer than a look may."""
    ranked = in_rank_order(pools._queue(NOW), NOW)
    assert str(ranked.values_list("id", "override").query).count("SELECT") == 1
