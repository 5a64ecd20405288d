"""How the sentences tell times, lengths of time and what somebody said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from routines_app.core.durations import format_duration
from routines_app.core.errors import RoutineError
from routines_app.core.said import Moment, Said, said, together
from routines_app.core.zones import zone_of
from routines_app.masks import masked_line

LONGEST_WORDS = 200  # of what a person or a task has said
SECOND_MS = 1_000


class Wording:
    """Times in the routine's own timezone: that is the one its schedule is read in."""

    def __init__(self, timezone: str) -> None:
        self.zone: tzinfo = _zone(timezone)

    def at(self, moment: datetime) -> Moment:
        """`2026-11-17 03:00:00 CET`, and as its reader writes it on a page."""
        return Moment(moment, self.zone)


def length(time: timedelta) -> str:
    """Whole seconds where there are some."""
    ms = max(0, time // timedelta(milliseconds=1))
    return format_duration(ms - ms % SECOND_MS if ms >= SECOND_MS else ms)


def words_of(text: str) -> str:
    """What somebody has said, to be told: masked, one line, not long, without its full stop."""
    words = masked_line(" ".join(text.split())).rstrip(".")
    return words if len(words) <= LONGEST_WORDS else words[: LONGEST_WORDS - 1] + "…"


def with_words(what: Said, text: str) -> Said:
    """A clause, and what somebody has said about it where that is something."""
    words = words_of(text)
    return said("{what}: {words}", what=what, words=words) if words else what


def stop(clause: Said) -> Said:
    """A clause as a sentence."""
    return together("", [clause, "."])


def _zone(timezone: str) -> tzinfo:
    try:
        return zone_of(timezone)
    except RoutineError:  # plain SQL can store words that are none
        return UTC
