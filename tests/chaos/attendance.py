"""Attendance: how long each beat was silent, by its own stamps, and not counting what the nemesis did to it.

Each beat writes the monotonic time of every look into a file of its own (`tests/acceptance/crash.py`). Between two
looks, and from the last one to its end, it is silent; so is one that takes too long to come to its first. Excused is
the time in which it was frozen, and in which the database was away: without it there is nothing to look at.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

Stretch = tuple[float, float]
MOST_SILENT_SECONDS = 5.0
STARTING_SECONDS = 20.0  # until then nobody expects a first look, on a machine where others start as well


@dataclass(kw_only=True)
class Life:
    """One beat process."""

    name: str
    looks: Path
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    excused: list[Stretch] = field(default_factory=list)

    def silences(self, until: float, excused: Iterable[Stretch]) -> list[float]:
        text = self.looks.read_text() if self.looks.exists() else ""
        end = until if self.ended is None else min(until, self.ended)
        stamps = [stamp for stamp in map(float, text.split()) if stamp < end]
        away = merged([*self.excused, *excused])
        silent = [(self.began + STARTING_SECONDS, min([*stamps, end])), *pairwise([*stamps, end])]
        return [without((begin, later), away) for begin, later in silent if begin < later]


@dataclass(kw_only=True)
class Attendance:
    """All beats that there were."""

    lives: dict[int, Life] = field(default_factory=dict)
    excused: list[Stretch] = field(default_factory=list)

    def begin(self, pid: int, name: str, looks: Path) -> None:
        self.lives[pid] = Life(name=name, looks=looks)

    def has_looked(self, pid: int) -> bool:
        return self.lives[pid].looks.exists()

    def end(self, pid: int) -> None:
        if pid in self.lives and self.lives[pid].ended is None:
            self.lives[pid].ended = time.monotonic()

    def excuse(self, pid: int | None, since: float) -> None:
        """From then until now: one beat, or all of them."""
        stretch = (since, time.monotonic() + 1.0)  # it needs a moment to notice that it may go on
        if pid is None:
            self.excused.append(stretch)
        elif pid in self.lives:
            self.lives[pid].excused.append(stretch)

    def stacks(self, name: str) -> str:
        """Where that beat was when it was silent for seconds, as it wrote it down itself; empty if it never was."""
        paths = [life.looks.with_suffix(".stacks") for life in self.lives.values() if life.name == name]
        return "".join(path.read_text() for path in paths if path.exists())

    def longest(self, until: float) -> tuple[float, str]:
        """The longest silence of any beat, and whose it was."""
        silences = [
            (seconds, life.name) for life in self.lives.values() for seconds in life.silences(until, self.excused)
        ]
        return max(silences, default=(0.0, "-"))


def merged(stretches: list[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def without(whole: Stretch, away: list[Stretch]) -> float:
    """The longest piece of the stretch that no other one covers."""
    begin, end = whole
    longest = 0.0
    for gone, back in away:
        if gone < end and back > begin:
            longest = max(longest, gone - begin)
            begin = max(begin, back)
    return max(longest, end - begin)
