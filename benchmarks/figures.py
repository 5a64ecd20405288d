"""Figures: what a scenario found, beside its peer and the bar that it must reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """What is required: of the ratio to the peer, or of our own value."""

    of: str
    """`ratio` or `ours`."""
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        above = self.at_least is None or value >= self.at_least
        return above and (self.at_most is None or value <= self.at_most)

    def text(self, unit: str) -> str:
        sign, limit = ("≤", self.at_most) if self.at_least is None else ("≥", self.at_least)
        return f"{sign} {limit:g}x" if self.of == "ratio" else f"{sign} {limit:g} {unit}"


def ratio_at_least(limit: float) -> Bar:
    return Bar("ratio", at_least=limit)


def ratio_at_most(limit: float) -> Bar:
    return Bar("ratio", at_most=limit)


def ours_at_most(limit: float) -> Bar:
    return Bar("ours", at_most=limit)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table."""

    name: str
    ours: float
    unit: str
    peer: float | None = None
    against: str = ""
    """Who the peer is; for growth figures that is ourselves with less to do."""
    bar: Bar | None = None
    """None: reported, not required."""

    @property
    def ratio(self) -> float | None:
        return None if not self.peer else self.ours / self.peer

    @property
    def passed(self) -> bool | None:
        if self.bar is None:
            return None
        value = self.ours if self.bar.of == "ours" else self.ratio
        return value is not None and self.bar.holds(value)


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a plot."""

    plot: str
    """`rate` (per second, by N) or `lateness` (milliseconds, over time)."""
    label: str
    points: Sequence[tuple[float, float]]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent of all values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        return float("nan")
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]
