"""What a run has waited for, one reason after another: as a text that a database can add to in one statement.

Each entry has the same width: the reason, since when, and until when it was last known to hold. So any database can
tell what the last entry says, renew it, or put another one behind it, without reading the row first. There are never
more than MOST: then one in the middle stands for those that made room.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from routines_app.core.keys import EPOCH, epoch_ms
from routines_app.core.words import Reason

MOST = 8
FIRST_KEPT = 4  # the first ones say how it began; behind them is the one that stands for others
REASON_WIDTH = 16
MOMENT_WIDTH = 13  # milliseconds since 1970, until the year 2286
WIDTH = REASON_WIDTH + 2 * MOMENT_WIDTH
LONGEST = MOST * WIDTH
PADDING = "."
OTHERS = "others"
BROKER_AWAY = "broker_away"  # no reason of the row's own: it is admitted, and goes as soon as the broker takes it

# A moment says it all: `eligible_at` is on the row.
UNSAID = frozenset({Reason.NONE, Reason.NOT_YET})

# Between two of these the run was on its way to a worker again: that goes on for as long as its cause.
HANDED_BACK = frozenset(
    {Reason.LEASE_HELD, Reason.KEY_TAKEN, Reason.ROUTINE_HELD, Reason.REDIS_AWAY, Reason.PUBLISH_FAILED, BROKER_AWAY}
)


class Wait(NamedTuple):
    """One thing that a run waited for."""

    reason: str
    """`OTHERS`: several, one after another, that are not kept apart."""
    since: datetime
    until: datetime
    """Until when it is known to have been that; it may have been so for a little longer."""


def first_wait(reason: str, now: datetime) -> str | None:
    """The text of a new run that waits; None where nothing has to be said."""
    return None if reason in UNSAID else entry(reason, now)


def entry(reason: str, now: datetime) -> str:
    return entry_of(reason, now, now)


def entry_of(reason: str, since: datetime, until: datetime) -> str:
    return head(reason) + stamp(since) + stamp(until)


def head(reason: str) -> str:
    return reason[:REASON_WIDTH].ljust(REASON_WIDTH, PADDING)


def stamp(now: datetime) -> str:
    return f"{epoch_ms(now):0{MOMENT_WIDTH}d}"


def read_waits(text: str | None) -> list[Wait]:
    """What the text says. Entries that plain SQL has spoiled are left out."""
    return list(_entries(text or ""))


def _entries(text: str) -> Iterator[Wait]:
    for begin in range(0, min(len(text), LONGEST), WIDTH):
        said = text[begin : begin + WIDTH]
        reason, since, until = said[:REASON_WIDTH], said[REASON_WIDTH:-MOMENT_WIDTH], said[-MOMENT_WIDTH:]
        if len(said) == WIDTH and since.isascii() and since.isdigit() and until.isascii() and until.isdigit():
            yield Wait(reason.rstrip(PADDING), _moment(since), _moment(until))


def _moment(text: str) -> datetime:
    return EPOCH + timedelta(milliseconds=int(text))
