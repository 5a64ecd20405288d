"""Many values in few words: lists, ranges and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

LONG_RANGE = 3  # `4 to 6`, but `4 and 5`
LONG_STEPS = 5  # `0, 2, 4 … 8`, but `0, 2, 4 and 6`


def joined(pieces: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {last} ".join(filter(None, (", ".join(pieces[:-1]), pieces[-1]))) if pieces else ""


def listed(values: Sequence[int], said: Callable[[int], str] = str) -> list[str]:
    """Sorted values as pieces to be joined: `0 to 10` for neighbours, `0, 2, 4 … 22` for even steps."""
    step = step_of(values)
    if len(values) >= LONG_STEPS and step > 1:
        first, second, third = values[:3]
        return [f"{said(first)}, {said(second)}, {said(third)} … {said(values[-1])}"]
    pieces: list[str] = []
    for low, high in runs_in(values):
        long = high - low + 1 >= LONG_RANGE
        pieces += [f"{said(low)} to {said(high)}"] if long else [said(value) for value in range(low, high + 1)]
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
