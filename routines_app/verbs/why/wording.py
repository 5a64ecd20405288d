"""How the sentences tell times, lengths of time and who did something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from routines_app.core.durations import format_duration
from routines_app.core.errors import RoutineError
from routines_app.core.zones import zone_of
from routines_app.masks import masked_line

LONGEST_WORDS = 200  # of what a person or a task has said
SECOND_MS = 1_000


class Wording:
    """Times in the routine's own timezone: that is the one its schedule is read in."""

    def __init__(self, timezone: str) -> None:
        self.zone: tzinfo = _zone(timezone)

    def at(self, moment: datetime) -> str:
        """`2026-11-17 03:00:00 CET`."""
        local = moment.astimezone(self.zone)
        return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''}".rstrip()

    def span(self, since: datetime, until: datetime) -> str:
        """`from … to … (12m)`."""
        return f"from {self.at(since)} to {self.at(until)} ({length(until - since)})"


def length(time: timedelta) -> str:
    """Whole seconds where there are some."""
    ms = max(0, time // timedelta(milliseconds=1))
    return format_duration(ms - ms % SECOND_MS if ms >= SECOND_MS else ms)


def quoted(text: str) -> str:
    """What somebody has said, as the end of a sentence: masked, one line, not long; nothing where nothing was said."""
    said = masked_line(" ".join(text.split())).rstrip(".")
    if not said:
        return ""
    return f": {said if len(said) <= LONGEST_WORDS else said[: LONGEST_WORDS - 1] + '…'}"


def by(actor: str) -> str:
    return f" by {actor}" if actor else ""


def _zone(timezone: str) -> tzinfo:
    try:
        return zone_of(timezone)
    except RoutineError:  # plain SQL can store words that are none
        return UTC
