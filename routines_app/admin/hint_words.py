"""How often and for how long, inside a sentence about a hint."""

from __future__ import annotations

from routines_app import service
from routines_app.core.said import Said, said, said_of

DAY, HOUR, MINUTE, SECOND = 86_400_000, 3_600_000, 60_000, 1000  # milliseconds


def how_often(ms: int) -> Said:
    """`every hour`, `every 10 minutes`, `every 1h 30m`."""
    if ms % DAY == 0:
        return said_of(ms // DAY, "every day", "every {count} days")
    if ms % HOUR == 0:
        return said_of(ms // HOUR, "every hour", "every {count} hours")
    if ms % MINUTE == 0:
        return said_of(ms // MINUTE, "every minute", "every {count} minutes")
    if ms % SECOND == 0:
        return said_of(ms // SECOND, "every second", "every {count} seconds")
    return said("every {length}", length=service.format_duration(ms))


def how_long(ms: int) -> str:
    """`1 hour`, `10 minutes`, `1h 30m`."""
    if ms % DAY == 0:
        return said_of(ms // DAY, "{count} day", "{count} days")
    if ms % HOUR == 0:
        return said_of(ms // HOUR, "{count} hour", "{count} hours")
    if ms % MINUTE == 0:
        return said_of(ms // MINUTE, "{count} minute", "{count} minutes")
    if ms % SECOND == 0:
        return said_of(ms // SECOND, "{count} second", "{count} seconds")
    return service.format_duration(ms)
