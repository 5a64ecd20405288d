"""Axes: which round times and amounts to name, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from math import ceil, log

from django.utils.safestring import SafeString

from routines_app.admin.charts.amounts import Unit, seconds_in_short
from routines_app.admin.charts.svg import element, text
from routines_app.admin.phrases import weekday_and_date

MINUTE, HOUR, DAY = 60, 3600, 86_400
STEPS = (10, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR)
LONG_STEPS = (6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY)
MOST_TICKS = 9
# The lengths of time that people name.
LENGTHS: tuple[float, ...] = (0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30)
LENGTHS += (MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE)
LENGTHS += (HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY)
LENGTHS += (365 * DAY, 5 * 365 * DAY, 50 * 365 * DAY)
MOST_LENGTHS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Maps instants between `start` and `end` to x coordinates between `left` and `right`."""

    start: datetime
    end: datetime
    left: float
    right: float
    zone: tzinfo
    most_ticks: int = MOST_TICKS

    def x(self, at: datetime) -> float:
        """Where `at` stands, kept inside the chart."""
        share = (at - self.start) / (self.end - self.start)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Round local times and their labels."""
        step = self._step()
        midnight = self.start.astimezone(self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        passed = (self.start - midnight).total_seconds()
        at = midnight + timedelta(seconds=ceil(passed / step) * step)
        while at <= self.end:
            yield self.x(at), self._label(at.astimezone(self.zone), step)
            at += timedelta(seconds=step)

    def drawn(self, top: float, bottom: float) -> list[SafeString]:
        """Thin lines from top to bottom with their labels beneath."""
        parts = []
        for x, label in self.ticks():
            parts.append(element("path", class_="rt-grid", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}"))
            parts.append(text(x, bottom + 14, label, anchor="middle"))
        return parts

    def _step(self) -> int:
        seconds = (self.end - self.start).total_seconds()
        return next((step for step in STEPS + LONG_STEPS if seconds / step <= self.most_ticks), LONG_STEPS[-1])

    @staticmethod
    def _label(local: datetime, step: int) -> str:
        if step >= DAY or (local.hour, local.minute, local.second) == (0, 0, 0):
            return weekday_and_date(local)
        return f"{local:%H:%M}" if step >= MINUTE else f"{local:%H:%M:%S}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountAxis:
    """Maps amounts from 0 to a round `highest` onto y coordinates, 0 at the bottom."""

    highest: float
    top: float
    bottom: float
    label: Callable[[float], str]

    @classmethod
    def covering(cls, most: float, *, top: float, bottom: float, unit: Unit) -> AmountAxis:
        return cls(highest=unit.round_up(most), top=top, bottom=bottom, label=unit.label)

    def y(self, amount: float) -> float:
        return self.bottom - (self.bottom - self.top) * min(max(amount / self.highest, 0.0), 1.0)

    def drawn(self, left: float, right: float) -> list[SafeString]:
        """Lines at 0, half and the highest amount."""
        parts = []
        for amount in (0.0, self.highest / 2, self.highest):
            y = self.y(amount)
            parts.append(element("path", class_="rt-grid", d=f"M{left:.1f} {y:.1f}H{right:.1f}"))
            parts.append(text(left - 6, y + 3.5, self.label(amount), anchor="end"))
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthAxis:
    """Maps lengths of time onto y coordinates by their logarithm: seconds and days can stand in one picture."""

    shortest: float
    longest: float
    top: float
    bottom: float

    @classmethod
    def covering(cls, lengths: Sequence[float], *, top: float, bottom: float) -> LengthAxis:
        """From a length that has a name to another one, with all of these strictly between them."""
        least, most = max(min(lengths), LENGTHS[1]), min(max(lengths), LENGTHS[-2])
        shortest = max(length for length in LENGTHS if length < least)
        longest = min(length for length in LENGTHS if length > most)
        return cls(shortest=shortest, longest=longest, top=top, bottom=bottom)

    def y(self, seconds: float) -> float:
        kept = min(max(seconds, self.shortest), self.longest)
        return self.bottom - (self.bottom - self.top) * log(kept / self.shortest) / log(self.longest / self.shortest)

    def drawn(self, left: float, right: float) -> list[SafeString]:
        """Lines at lengths that have names, with their labels."""
        named = [length for length in LENGTHS if self.shortest <= length <= self.longest]
        parts = []
        for length in named[:: ceil(len(named) / MOST_LENGTHS)]:
            y = self.y(length)
            parts.append(element("path", class_="rt-grid", d=f"M{left:.1f} {y:.1f}H{right:.1f}"))
            parts.append(text(left - 6, y + 3.5, seconds_in_short(length), anchor="end"))
        return parts
