"""The time of another clock, carried on between two readings of it by a steady one of our own.

A steady clock counts seconds from anywhere, and nobody steps it. What it carries never runs backwards: where it turns
out to be ahead it is slowed down until the other has caught up. Only a jump that was seen twice moves the time back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

JUMP_SECONDS = 1.0  # clocks drift, by milliseconds between two readings; somebody has set one that is further away
SLOWED = 0.5  # how fast a clock that is ahead goes on


@dataclass(frozen=True, slots=True)
class Reading:
    """What the other clock said."""

    time: datetime
    at: float
    """The steady clock's seconds at that time."""
    within: float = 0.0
    """How wrong that may be, in seconds: half of the time that the answer took."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The time as it goes on from a reading."""

    reading: Reading
    ahead: float = 0.0
    """How many seconds more than the reading had been told before it."""

    def at(self, steady: float) -> datetime:
        """The time when the steady clock says `steady`."""
        passed = steady - self.reading.at
        return self.reading.time + timedelta(seconds=passed + max(0.0, self.ahead - passed * (1 - SLOWED)))


@dataclass(frozen=True, slots=True)
class Jump:
    """The other clock is not where it should be: it was set, or the answer is wrong. A second reading tells."""

    seconds: float


def follow(known: Carried, reading: Reading) -> Carried | Jump:
    """How the time goes on after another reading. One that agrees within what it can know changes nothing."""
    off = (reading.time - known.at(reading.at)).total_seconds()
    if abs(off) <= reading.within:
        return known
    if abs(off) > JUMP_SECONDS + known.reading.within + reading.within:
        return Jump(off)
    return Carried(reading, ahead=max(0.0, -off))


def confirms(first: Reading, second: Reading) -> bool:
    """Whether the second reading tells of the same clock as the first."""
    return not isinstance(follow(Carried(first), second), Jump)
