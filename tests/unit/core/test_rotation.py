"""Rotations: whom a tick picks, how a rotation idles, and what an attempt makes of a member."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.rotation import (
    AWAKE,
    MOST_BUDGET,
    MOST_FRESH,
    MOST_WAIT_TICKS,
    NEVER,
    Attempt,
    Idle,
    Owed,
    Progress,
    idle_after,
    pick,
    progress_of,
    rank_phase,
    room,
    wait_ticks,
)
from routines_app.core.words import MemberStatus, RunStatus
from tests.unit.core.strategies import instants

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
PLAIN = Owed(id=1, phase=0, band=1, depth=0, emphasis=1.0, attempted_at=NOW - timedelta(hours=1))
ENDED = Attempt(status=RunStatus.SUCCESS, phase=0, phases=1, failures=0, ticks=10, fresh_for=timedelta(days=1), now=NOW)
owed = st.builds(
    Owed,
    id=st.integers(1, 1000),
    phase=st.integers(0, 3),
    band=st.integers(0, 2),
    depth=st.integers(0, 3),
    emphasis=st.floats(allow_nan=True, allow_infinity=True),
    attempted_at=st.sampled_from([NEVER, NOW + timedelta(hours=1)]) | instants,
)
members = st.lists(owed, max_size=12, unique_by=lambda member: member.id)


def picked(*waiting: Owed, most: int = 100, depth_weight: float = 0.5) -> list[int]:
    return [member.id for member in pick(waiting, most, NOW, depth_weight)]


@given(members, st.integers(-1, 13), st.randoms())
def test_the_order_is_total_and_what_is_picked_is_its_beginning(waiting: list[Owed], most: int, random: Random) -> None:
    """In whichever order they were read, and whatever their numbers are."""
    whole = picked(*waiting)
    assert sorted(whole) == sorted(member.id for member in waiting)
    random.shuffle(waiting)
    assert picked(*waiting, most=most) == whole[: max(0, most)]


@given(members.filter(bool), st.integers(1, 12))
def test_no_one_that_is_passed_over_is_further_in_its_cycle(waiting: list[Owed], most: int) -> None:
    chosen = pick(waiting, most, NOW, 0.5)
    passed_over = [member for member in waiting if member not in chosen]
    assert all((-each.phase, each.band) >= (-chosen[-1].phase, chosen[-1].band) for each in passed_over)


@given(members, st.integers(0, 3))
def test_what_others_are_owed_changes_nothing_between_two_of_one_phase_and_band(waiting: list[Owed], most: int) -> None:
    """Of each kind, those tried longest ago are enough to choose from: what a tick reads by its index."""
    kinds: dict[tuple[int, int, int, str], list[Owed]] = {}
    for member in sorted(waiting, key=lambda member: (member.attempted_at, member.id)):
        kinds.setdefault((member.phase, member.band, member.depth, repr(member.emphasis)), []).append(member)
    heads = [member for kind in kinds.values() for member in kind[:most]]
    assert picked(*heads, most=most) == picked(*waiting, most=most)


def test_finishing_goes_before_priority_and_priority_before_staleness() -> None:
    stale = replace(PLAIN, id=1, attempted_at=NEVER)
    high = replace(PLAIN, id=2, band=0)
    late = replace(PLAIN, id=3, phase=1, band=2, attempted_at=NOW)
    assert picked(stale, high, late) == [3, 2, 1]


def test_the_one_tried_longest_ago_goes_first_and_the_never_tried_before_all() -> None:
    """Ties by the id: of two that were added together the first."""
    recent = replace(PLAIN, id=3, attempted_at=NOW - timedelta(minutes=1))
    never = [replace(PLAIN, id=number, attempted_at=NEVER) for number in (5, 4)]
    assert picked(recent, PLAIN, *never) == [4, 5, 1, 3]


def test_a_phase_that_has_failed_until_it_waits_longest_stands_in_line_with_the_beginners() -> None:
    assert [rank_phase(2, failures) for failures in range(6)] == [2, 2, 2, 2, 0, 0]
    assert wait_ticks(4) == MOST_WAIT_TICKS


def test_depth_counts_from_the_shallowest_of_the_same_phase_and_band() -> None:
    """Three levels below it double the staleness; a shallower one of another band is none to count from."""
    deep = replace(PLAIN, id=2, depth=13, attempted_at=NOW - timedelta(minutes=31))
    shallow = replace(PLAIN, id=1, depth=10)
    elsewhere = replace(PLAIN, id=3, depth=0, band=2, attempted_at=NEVER)
    assert picked(shallow, deep, elsewhere) == [2, 1, 3]
    assert picked(shallow, deep, elsewhere, depth_weight=0.0) == [1, 2, 3]
    assert picked(replace(shallow, depth=13), deep) == [1, 2]


@given(st.integers(1, 100), st.integers(1, 100), st.integers(0, 300))
def test_room_is_what_budget_and_flight_leave(budget: int, most: int, in_flight: int) -> None:
    free = room(budget=budget, max_in_flight=most, in_flight=in_flight)
    assert 0 <= free <= budget
    assert free == 0 or in_flight + free <= most
    assert free == budget or in_flight + free >= most


def test_no_budget_is_beyond_the_most_that_one_tick_does() -> None:
    assert room(budget=5_000, max_in_flight=9_000, in_flight=0) == MOST_BUDGET


def test_idling_doubles_to_four_and_leaves_out_all_ticks_but_one() -> None:
    assert [idle_after(multiplier) for multiplier in (0, 1, 2, 4, 99)] == [
        Idle(2, 1),
        Idle(2, 1),
        Idle(4, 3),
        Idle(4, 3),
        Idle(4, 3),
    ]
    assert Idle(1, 0) == AWAKE


def test_a_success_goes_on_in_the_cycle() -> None:
    """The failures before it are forgotten, and nothing is fresh before the end."""
    middle = progress_of(replace(ENDED, phases=3, phase=1, failures=2))
    assert middle == Progress(status=MemberStatus.OWED, phase=2, failures=0)


@pytest.mark.parametrize("phase", [2, 5], ids=["the last", "of a list that was shortened since"])
def test_the_last_success_ends_the_cycle_and_makes_it_fresh(phase: int) -> None:
    done = progress_of(replace(ENDED, phases=3, phase=phase, failures=2))
    assert done == Progress(
        status=MemberStatus.FRESH, phase=0, failures=0, due_at=NOW + timedelta(days=1), cycle_ended=True
    )


def test_what_is_fresh_for_ever_is_so_for_a_century() -> None:
    """Nobody's calendar ends in the middle of an end."""
    assert progress_of(replace(ENDED, fresh_for=timedelta.max)).due_at == NOW + MOST_FRESH


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.SKIPPED])
def test_failed_and_expired_runs_wait_twice_as_long_each_time(status: RunStatus) -> None:
    failing = [progress_of(replace(ENDED, status=status, phases=3, phase=1, failures=count)) for count in range(6)]
    assert [each.retry_tick for each in failing] == [12, 14, 18, 26, 26, 26]
    assert [each.failures for each in failing] == [1, 2, 3, 4, 5, 6]
    assert {(each.status, each.phase, each.cycle_ended) for each in failing} == {(MemberStatus.FAILED, 1, False)}


def test_what_somebody_stopped_is_owed_still() -> None:
    stopped = progress_of(replace(ENDED, status=RunStatus.CANCELLED, phases=3, phase=1, failures=2))
    assert stopped == Progress(status=MemberStatus.OWED, phase=1, failures=2)


@given(st.integers(0, 10**9))
def test_nobody_waits_longer_than_sixteen_ticks_or_less_than_one(failures: int) -> None:
    assert 1 <= wait_ticks(failures) <= MOST_WAIT_TICKS
    assert wait_ticks(failures + 1) >= wait_ticks(failures)
