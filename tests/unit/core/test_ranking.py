"""Rank: a total, stable order of what waits."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.ranking import NEVER_SECONDS, Waiting, effective_staleness, rank_key
from routines_app.core.words import Priority
from tests.unit.core.strategies import instants

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
PLAIN = Waiting(id="b", priority=Priority.MEDIUM, stale_seconds=100.0, eligible_at=NOW)
anything = st.floats(allow_nan=True, allow_infinity=True)
waitings = st.builds(
    Waiting,
    id=st.text(max_size=3),
    override_at=st.none() | instants,
    priority=st.sampled_from(Priority),
    stale_seconds=st.none() | anything,
    depth=st.integers(0, 100),
    least_depth=st.integers(0, 100),
    emphasis=anything,
    eligible_at=instants,
)


def order(*waiting: Waiting) -> list[str]:
    return [each.id for each in sorted(waiting, key=rank_key)]


@given(st.lists(waitings, max_size=4, unique_by=lambda waiting: waiting.id), st.randoms())
def test_the_order_is_total_and_does_not_depend_on_where_it_starts(waiting: list[Waiting], random: object) -> None:
    """Any shuffle gives the same order, whatever the numbers are."""
    expected = sorted(waiting, key=rank_key)
    shuffled = list(waiting)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(shuffled, key=rank_key) == expected
    assert len({rank_key(each) for each in waiting}) == len(waiting)


@given(waitings)
def test_staleness_is_never_less_than_nothing(waiting: Waiting) -> None:
    """No emphasis overflows and no clock skew turns the order around."""
    staleness = effective_staleness(waiting)
    assert staleness >= 0
    assert not math.isnan(staleness)


def test_overrides_go_first_in_the_order_of_their_requests() -> None:
    """Before any priority."""
    first = replace(PLAIN, id="first", override_at=NOW - timedelta(seconds=1), priority=Priority.LOW)
    second = replace(PLAIN, id="second", override_at=NOW)
    high = replace(PLAIN, id="high", priority=Priority.HIGH)
    assert order(high, second, first) == ["first", "second", "high"]


def test_the_priority_band_beats_staleness() -> None:
    """HIGH before MEDIUM before LOW, however stale."""
    low, medium, high = (
        replace(PLAIN, id=band, priority=band, stale_seconds=stale)
        for band, stale in ((Priority.LOW, 9e9), (Priority.MEDIUM, 50.0), (Priority.HIGH, 1.0))
    )
    assert order(low, medium, high) == ["HIGH", "MEDIUM", "LOW"]


def test_the_stalest_goes_first_within_a_band() -> None:
    """Then who has been eligible for longest, then the id."""
    older = replace(PLAIN, id="z", eligible_at=NOW - timedelta(seconds=1))
    assert order(PLAIN, replace(PLAIN, id="a"), older, replace(PLAIN, id="stale", stale_seconds=101.0)) == [
        "stale",
        "z",
        "a",
        "b",
    ]


def test_depth_counts_from_the_shallowest_that_waits() -> None:
    """Three levels below it double the staleness with a weight of 0.5, wherever in the tree they are."""
    deep = replace(PLAIN, depth=3)
    assert effective_staleness(deep) == 200.0
    assert effective_staleness(replace(deep, depth=13, least_depth=10)) == 200.0
    assert effective_staleness(replace(deep, emphasis=2.0)) == 400.0
    assert effective_staleness(replace(deep, depth_weight=1.0)) == 400.0
    assert effective_staleness(replace(deep, emphasis=0.0)) == 100.0
    assert effective_staleness(replace(deep, least_depth=3)) == 100.0


def test_what_never_succeeded_is_stalest_and_depth_tells_two_of_them_apart() -> None:
    """No success of any age is staler."""
    never, deeper = replace(PLAIN, id="never", stale_seconds=None), replace(PLAIN, id="x", stale_seconds=None, depth=1)
    ages = replace(PLAIN, id="ages", stale_seconds=3e9)
    assert order(ages, never, deeper) == ["x", "never", "ages"]
    assert effective_staleness(never) == NEVER_SECONDS
