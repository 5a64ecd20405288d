"""The plan of leases as values: its order, its differences, its sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from routines_app.core import lease_plan
from routines_app.core.lease_plan import LeaseDecision, Verdict, differences, in_rank_order
from routines_app.core.room import PoolUsage, Queued
from routines_app.core.words import Reason

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def queued(number: int, pool_id: int | None = None, *, days: float = 1, depth: int = 0) -> Queued:
    return Queued(
        id=UUID(int=number),
        routine_id=number,
        pool_id=pool_id,
        requested_at=None,
        eligible_at=NOW,
        priority="MEDIUM",
        emphasis=1.0,
        depth=depth,
        last_success_at=NOW - timedelta(days=days),
    )


def decision(number: int, verdict: Verdict, *, written: bool = True) -> LeaseDecision:
    return LeaseDecision(
        position=number,
        routine_id=number,
        name=f"r{number}",
        run_id=UUID(int=number) if written else None,
        slot=NOW,
        trigger="schedule",
        pool=None,
        verdict=verdict,
        reason=Reason.NONE,
        why=f"why {number}",
    )


def order(*queues: list[Queued]) -> list[int]:
    return [run_id.int for run_id in in_rank_order(queues, NOW, depth_weight=1.0)]


def test_all_queues_are_ranked_together() -> None:
    assert order([queued(1, days=1), queued(2, days=3)], [queued(3, 7, days=2)]) == [2, 3, 1]


def test_each_queue_keeps_its_own_order() -> None:
    """Beside a shallow one that does not compete with them, two deep ones would rank the other way round."""
    shallow, deep, deeper = queued(1, 7, days=9), queued(2, 7, days=4, depth=4), queued(3, 7, days=3, depth=6)
    assert order([deep, deeper]) == [3, 2]
    assert order([shallow, deep, deeper]) == [3, 2, 1]
    close = [queued(4, 7, days=4, depth=1), queued(5, 7, days=3, depth=2)]
    assert order(close) == [5, 4]
    assert order([queued(6, 7, days=1, depth=0)], close) == [5, 4, 6]


def test_the_same_verdicts_are_no_difference() -> None:
    same = [decision(1, Verdict.START), decision(2, Verdict.HOLD, written=False)]
    assert differences(same, same) == ()


def test_differences_are_what_changes_appears_and_vanishes() -> None:
    present = [decision(1, Verdict.START), decision(2, Verdict.HOLD), decision(3, Verdict.SKIP, written=False)]
    changed = [decision(4, Verdict.START, written=False), decision(1, Verdict.HOLD), decision(2, Verdict.HOLD)]
    found = [(each.name, each.now, each.then, each.why) for each in differences(present, changed)]
    assert found == [
        ("r4", None, "start", "why 4"),
        ("r1", "start", "hold", "why 1"),
        ("r3", "skip", None, "it would not be a candidate"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (lease_plan.held_because(Reason.OVERLAP), "another run of its routine is active"),
        (
            lease_plan.held_because(Reason.NOT_YET, NOW),
            "its time has not come; looked at again from 2024-05-01 12:00:00 UTC",
        ),
        (lease_plan.held_because(Reason.EXPIRED), "expired"),
        (lease_plan.skipped_because(Reason.EXPIRED), "it is too old to be worth it"),
        (
            lease_plan.skipped_because(Reason.MISFIRE, until=NOW, count=4),
            "missed, and not caught up: 4 slots until 2024-05-01 12:00:00 UTC",
        ),
        (lease_plan.skipped_because(Reason.ARCHIVED), "archived"),
        (
            lease_plan.has_room("db", PoolUsage(ceiling=3, in_flight=2)),
            "there is room in pool db (2 of 3 in flight)",
        ),
        (lease_plan.is_full("db", PoolUsage(ceiling=3, in_flight=3), 0), "pool db is full (3 of 3 in flight)"),
        (
            lease_plan.is_full("db", PoolUsage(ceiling=1, in_flight=1), 2),
            "pool db is full (1 of 1 in flight, and 2 that wait go before it)",
        ),
        (
            lease_plan.is_full("db", PoolUsage(ceiling=0, in_flight=2), 0),
            "pool db lets nothing start (2 of 0 in flight)",
        ),
        (
            lease_plan.is_full("db", PoolUsage(ceiling=0, in_flight=2), 1),
            "pool db lets nothing start (2 of 0 in flight, and 1 that wait go before it)",
        ),
        (lease_plan.replaces(1, "then"), "it takes the place of 1 other run of its routine; then"),
        (lease_plan.replaces(2, "then"), "it takes the place of 2 other runs of its routine; then"),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    assert text == sentence
