"""How many runs would be under way together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.crowding import Occupation, peaks

START = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
EDGES = [START + timedelta(minutes=place) for place in range(5)]


def taken(second: float, length: float, alone: int | None = None) -> Occupation:
    begin = START + timedelta(seconds=second)
    return Occupation(begin, begin + timedelta(seconds=length), alone)


def test_what_lasts_is_counted_in_every_step_that_it_reaches() -> None:
    """From the second minute into the third, and no further."""
    assert peaks([taken(70, 60)], EDGES) == [0, 1, 1, 0]


def test_who_leaves_makes_room_before_others_come() -> None:
    """One after the other needs one place."""
    assert peaks([taken(0, 30), taken(30, 30)], EDGES) == [1, 0, 0, 0]


def test_runs_of_no_length_meet_where_they_begin() -> None:
    """Three at once are three, also when nobody knows how long they take."""
    assert peaks([taken(60, 0)] * 3, EDGES) == [0, 3, 0, 0]


def test_what_never_runs_twice_takes_one_place() -> None:
    """However often it comes while it is there; another one beside it takes its own."""
    often = [taken(second, 50, alone=7) for second in (0, 10, 20, 130)]
    assert peaks([*often, taken(5, 10, alone=8)], EDGES) == [2, 1, 1, 0]


def test_what_began_before_is_there() -> None:
    """The level at the first edge counts."""
    assert peaks([taken(-30, 40)], EDGES) == [1, 0, 0, 0]


@given(st.lists(st.tuples(st.integers(-60, 300), st.integers(0, 200)), max_size=12))
def test_peaks_agree_with_looking_at_every_moment(given_runs: list[tuple[int, int]]) -> None:
    """Whole seconds are all the moments at which anything changes here."""
    runs = [taken(second, length) for second, length in given_runs]

    def at(moment: datetime) -> int:
        return sum(run.begin <= moment < max(run.end, run.begin + timedelta(microseconds=1)) for run in runs)

    seconds = [START + timedelta(seconds=second) for second in range(240)]
    expected = [max(at(moment) for moment in seconds if begin <= moment < end) for begin, end in pairwise(EDGES)]
    assert peaks(runs, EDGES) == expected
