"""Many values in few words: lists, ranges and steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from django.utils.translation import gettext as _

LONG_RANGE = 3  # `4 to 6`, but `4 and 5`
LONG_STEPS = 5  # `0, 2, 4 … 8`, but `0, 2, 4 and 6`

Piece = tuple[int] | tuple[int, int] | tuple[int, int, int, int]
"""A value; all values from one to another; even steps, by the first three and the last."""


def joined(pieces: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(pieces) < 2:
        return "".join(pieces)
    return _("{others} and {last}").format(others=", ".join(pieces[:-1]), last=pieces[-1])


def either(pieces: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(pieces) < 2:
        return "".join(pieces)
    return _("{others} or {last}").format(others=", ".join(pieces[:-1]), last=pieces[-1])


def numbers_in_words(values: Sequence[int]) -> str:
    """`5`, `0 to 10 and 30`, `0, 2, 4 … 22`."""
    return joined([_number(piece) for piece in pieces_of(values)])


def _number(piece: Piece) -> str:
    match piece:
        case (value,):
            return str(value)
        case (first, last):
            return _("{first} to {last}").format(first=first, last=last)
        case (first, second, third, last):
            return f"{first}, {second}, {third} … {last}"


def pieces_of(values: Sequence[int]) -> list[Piece]:
    """Sorted values as pieces to be said and joined: neighbours as a range, even steps as one piece."""
    step = step_of(values)
    if len(values) >= LONG_STEPS and step > 1:
        return [(values[0], values[1], values[2], values[-1])]
    pieces: list[Piece] = []
    for low, high in runs_in(values):
        long = high - low + 1 >= LONG_RANGE
        pieces += [(low, high)] if long else [(value,) for value in range(low, high + 1)]
    return pieces


def step_of(values: Sequence[int]) -> int:
    """The distance between any two neighbours; 0 where it is not the same for all."""
    steps = {later - value for value, later in pairwise(values)}
    return steps.pop() if len(steps) == 1 else 0


def runs_in(values: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted values as pairs of the first and the last of those that follow each other."""
    runs: list[tuple[int, int]] = []
    for value in values:
        follows = bool(runs) and runs[-1][1] == value - 1
        runs = [*runs[:-1], (runs[-1][0], value)] if follows else [*runs, (value, value)]
    return runs


def one_run(values: Sequence[int], low: int, high: int) -> tuple[int, int] | None:
    """The first and the last of sorted values that follow each other, perhaps across the field's end (22 to 4)."""
    runs = runs_in(values)
    if len(runs) == 1:
        return runs[0]
    if len(runs) == 2 and runs[0][0] == low and runs[1][1] == high:
        return runs[1][0], runs[0][1]
    return None
