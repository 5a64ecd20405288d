"""How many runs would be under way together, from when each begins and how long it usually takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

SHORTEST = timedelta(microseconds=1)  # a run of no length still meets those that begin with it


class Occupation(NamedTuple):
    """A place in a pool from one moment until another; `alone` names what never takes two places at once."""

    begin: datetime
    end: datetime
    alone: int | None = None


def peaks(occupations: Iterable[Occupation], edges: Sequence[datetime]) -> list[int]:
    """The most places that are taken at any one moment between each two edges, which ascend."""
    changes = _changes(_places(occupations))
    found, taken, place = [], 0, 0
    for begin, end in pairwise(edges):
        while place < len(changes) and changes[place][0] <= begin:
            taken += changes[place][1]
            place += 1
        most = taken
        while place < len(changes) and changes[place][0] < end:
            taken += changes[place][1]
            most = max(most, taken)
            place += 1
        found.append(most)
    return found


def _changes(places: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, int]]:
    """Who leaves at a moment leaves before others come."""
    found = [change for begin, end in places for change in ((begin, 1), (max(end, begin + SHORTEST), -1))]
    return sorted(found)


def _places(occupations: Iterable[Occupation]) -> list[tuple[datetime, datetime]]:
    """Those that overlap with themselves and never run twice are one place, from the first begin to the last end."""
    found: list[tuple[datetime, datetime]] = []
    of_one: dict[int, list[Occupation]] = defaultdict(list)
    for occupation in occupations:
        if occupation.alone is None:
            found.append((occupation.begin, occupation.end))
        else:
            of_one[occupation.alone].append(occupation)
    for same in of_one.values():
        found += _joined(sorted(same))
    return found


def _joined(ordered: Sequence[Occupation]) -> list[tuple[datetime, datetime]]:
    found: list[tuple[datetime, datetime]] = []
    for begin, end, _ in ordered:
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found
