"""Room in a pool: never more than there is, and in the order of rank."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.room import PoolUsage, Queued, need_not_queue, take_room
from routines_app.core.words import Priority, RunTrigger

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
moments = st.integers(0, 10**6).map(lambda seconds: NOW - timedelta(seconds=seconds))
pools = st.builds(PoolUsage, ceiling=st.integers(0, 10), in_flight=st.integers(0, 20))
queues = st.lists(
    st.builds(
        Queued,
        id=st.uuids(),
        routine_id=st.integers(1, 4),
        trigger=st.sampled_from([RunTrigger.SCHEDULE.value, RunTrigger.MANUAL.value]),
        eligible_at=moments,
        priority=st.sampled_from([priority.value for priority in Priority]),
        emphasis=st.floats(0, 100),
        depth=st.integers(0, 5),
        created_at=moments,
        last_success_at=st.none() | moments,
    ),
    max_size=8,
    unique_by=lambda run: run.id,
)


def queued(number: int, **facts: object) -> Queued:
    plain = Queued(UUID(int=number), number, "schedule", NOW, "MEDIUM", 1.0, 0, NOW - timedelta(days=1), None)
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
    by_hand = {"trigger": "manual", "routine_id": 7, "priority": "LOW"}
    first = queued(1, eligible_at=NOW - timedelta(seconds=2), **by_hand)
    again = queued(2, eligible_at=NOW - timedelta(seconds=1), **by_hand)
    assert taken(first, again, queued(3, priority="HIGH")) == [1, 3, 2]


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
