"""A wall clock that a test can step, in a process that it starts with this folder on its PYTHONPATH.

Python imports this module before anything else. From then on whatever asks for the time of day gets the machine's plus
the seconds that the file named by ROUTINES_WALL_STEP holds at that moment. The steady clocks stay as they are, as they
do when an administrator sets the time. The servers are other processes and see nothing of it.
"""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

_STEP = Path(os.environ["ROUTINES_WALL_STEP"])
_time, _time_ns, _gettime = time.time, time.time_ns, time.clock_gettime
_datetime: Any = datetime.datetime


def step() -> int:
    """How many seconds the clock has been stepped by."""
    return int(_STEP.read_text() or 0)


class Kind(type):
    """What the system or a driver makes is of the class that this one stands in for."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _datetime)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _datetime)


class SteppedDatetime(_datetime, metaclass=Kind):  # type: ignore[misc]
    """`datetime.datetime`, reading the stepped clock."""

    __slots__ = ()  # of the same size: compiled modules look

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """One of the other class: drivers look at what class a value is of, and took the real ones for bare dates."""
        return _datetime(*args, **kwargs)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _datetime.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _datetime.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return _datetime.fromtimestamp(time.time())


SteppedDatetime.__name__ = SteppedDatetime.__qualname__ = "datetime"
SteppedDatetime.__module__ = "datetime"
replacements: dict[str, Any] = {
    "time": lambda: _time() + step(),
    "time_ns": lambda: _time_ns() + step() * 1_000_000_000,
    "clock_gettime": lambda clock: _gettime(clock) + (step() if clock == time.CLOCK_REALTIME else 0),
}
for name, replacement in replacements.items():
    setattr(time, name, replacement)
datetime.datetime = SteppedDatetime  # type: ignore[misc]
