"""What a question of the doctor's comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

MOST_NAMED = 3  # of what is wrong; a line has an end


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """It works, but not as it should, or not for long."""
    ERROR = "error"
    """Something does not work."""
    UNKNOWN = "unknown"
    """It could not be asked."""


class Answer(NamedTuple):
    level: Level
    found: str
    advice: str = ""
    """What to do; empty where nothing is."""


def ok(found: str) -> Answer:
    return Answer(Level.OK, found)


def warning(found: str, advice: str) -> Answer:
    return Answer(Level.WARNING, found, advice)


def error(found: str, advice: str) -> Answer:
    return Answer(Level.ERROR, found, advice)


def unknown(found: str, advice: str = "") -> Answer:
    return Answer(Level.UNKNOWN, found, advice)


def worst(levels: Iterable[Level]) -> Level:
    """An error before a warning before what is not known."""
    order = (Level.OK, Level.UNKNOWN, Level.WARNING, Level.ERROR)
    return max(levels, key=order.index, default=Level.OK)


def some_of(names: Sequence[str], more: int | None = None) -> str:
    """The first few, and how many more there are; `more` where that is known without their names."""
    left = len(names) - MOST_NAMED if more is None else more
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {left} more" if left > 0 else shown


def counted(number: int, thing: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
