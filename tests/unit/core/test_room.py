"""Room in a pool: never more than there is, and in the order of rank."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.admission import Hold, Publish
from routines_app.core.room import PoolUsage, Queued, need_not_queue, share_room, take_room
from routines_app.core.words import Priority, Reason

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
moments = st.integers(0, 10**6).map(lambda seconds: NOW - timedelta(seconds=seconds))
pools = st.builds(PoolUsage, ceiling=st.integers(0, 10), in_flight=st.integers(0, 20))
queues = st.lists(
    st.builds(
        Queued,
        id=st.uuids(),
        routine_id=st.integers(1, 4),
        pool_id=st.just(1),
        requested_at=st.none() | moments,
        eligible_at=moments,
        priority=st.sampled_from([priority.value for priority in Priority]),
        emphasis=st.floats(0, 100),
        depth=st.integers(0, 5),
        last_success_at=st.none() | moments,
        least_depth=st.none(),
    ),
    max_size=8,
    unique_by=lambda run: run.id,
)


def queued(number: int, **facts: object) -> Queued:
    plain = Queued(UUID(int=number), number, 1, None, NOW, "MEDIUM", 1.0, 0, NOW - timedelta(days=1))
    return plain._replace(**facts)


def taken(*queue: Queued, room: int = 10) -> list[int]:
    found = take_room(PoolUsage(ceiling=room, in_flight=0), queue, NOW, depth_weight=0.5)
    return [run_id.int for run_id in found]


@given(pools, queues)
def test_a_ceiling_is_never_passed(pool: PoolUsage, queue: list[Queued]) -> None:
    """Also not by one that was lowered below what is in flight; and no room stays empty while somebody waits."""
    chosen = take_room(pool, queue, NOW, depth_weight=0.5)
    assert len(chosen) == min(len(queue), max(0, pool.ceiling - pool.in_flight))
    assert len(set(chosen)) == len(chosen)


@given(pools, queues)
def test_less_room_takes_the_first_of_the_same_order(pool: PoolUsage, queue: list[Queued]) -> None:
    """Who goes first does not depend on how many go."""
    everybody = take_room(PoolUsage(ceiling=100, in_flight=0), queue, NOW, depth_weight=0.5)
    assert take_room(pool, queue, NOW, depth_weight=0.5) == everybody[: pool.room]


def test_by_hand_goes_first_once_for_each_routine() -> None:
    """In the order of the requests; a second request of the same routine queues like anything else."""
    by_hand = {"routine_id": 7, "priority": "LOW"}
    first = queued(1, requested_at=NOW - timedelta(seconds=2), **by_hand)
    again = queued(2, requested_at=NOW - timedelta(seconds=1), **by_hand)
    assert taken(again, first, queued(3, priority="HIGH")) == [1, 3, 2]


def test_a_request_keeps_its_place_however_late_it_may_go() -> None:
    """A retry is eligible later than those that were asked for after its first attempt, and goes before them."""
    retry = queued(2, requested_at=NOW - timedelta(hours=1), eligible_at=NOW)
    later = queued(1, requested_at=NOW - timedelta(minutes=1), eligible_at=NOW - timedelta(minutes=1))
    assert taken(later, retry) == [2, 1]


@given(st.lists(st.tuples(pools, queues), max_size=3))
def test_several_pools_share_as_each_would_by_itself(each: list[tuple[PoolUsage, list[Queued]]]) -> None:
    """The plan's order of everything holds, pool by pool, what the pools themselves do; what has no pool goes."""
    usage = {number: pool for number, (pool, _) in enumerate(each)}
    numbers = count(1)
    queue_of = {
        number: [run._replace(id=UUID(int=next(numbers)), pool_id=number) for run in queue]
        for number, (_, queue) in enumerate(each)
    }
    everybody = [run for queue in queue_of.values() for run in queue]
    free = [run._replace(pool_id=None) for run in everybody]
    placed = share_room(usage, everybody, NOW, depth_weight=0.5)
    assert len(placed) == len(everybody)
    for number, pool in usage.items():
        goes = [at.run.id for at in placed if at.run.pool_id == number and at.decision == Publish()]
        assert goes == take_room(pool, queue_of[number], NOW, depth_weight=0.5)
    assert {at.decision for at in placed} <= {Publish(), Hold(Reason.CEILING)}
    assert {at.decision for at in share_room(usage, free, NOW, depth_weight=0.5)} <= {Publish()}


def test_depth_counts_from_the_shallowest_of_the_whole_queue() -> None:
    """Also from one that was not read, because its place is far behind."""
    hour, long = NOW - timedelta(hours=1), NOW - timedelta(hours=1.5)
    shallow, deep = queued(1, depth=3, last_success_at=long), queued(2, depth=7, last_success_at=hour)
    assert taken(shallow, deep) == [2, 1]
    assert taken(*(run._replace(least_depth=0) for run in (shallow, deep))) == [1, 2]


def test_then_the_band_then_who_waited_longest_for_a_success() -> None:
    """A routine that has just succeeded can wait."""
    fresh, stale = NOW - timedelta(minutes=1), NOW - timedelta(hours=1)
    queue = queued(1, last_success_at=fresh), queued(2, last_success_at=stale), queued(3, priority="HIGH")
    assert taken(*queue) == [3, 2, 1]
    assert taken(*queue, room=1) == [3]


def test_new_runs_need_not_queue_where_there_is_room_for_all_of_them() -> None:
    """They go before nobody, and never half of them: which half is a question of rank."""
    pool = PoolUsage(ceiling=3, in_flight=1)
    assert need_not_queue(pool, 2, others_wait=False)
    assert not need_not_queue(pool, 3, others_wait=False)
    assert not need_not_queue(pool, 2, others_wait=True)
