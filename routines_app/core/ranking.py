"""Rank: the order in which waiting runs get the room that appears.

`protocol/publish/ranked.py` says the same in SQL, for queues that are too long to be read; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from routines_app.core.keys import EPOCH
from routines_app.core.words import Priority

BANDS = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
# The staleness of what never succeeded, and the most that anything has: longer than any ledger is old, and finite, so
# that depth still tells two of them apart.
NEVER_SECONDS = 1e10
# Far beyond any sensible emphasis and any tree (`verbs/family.py`), and neither overflow nor zero can come of them.
MAX_EXPONENT = 64.0
MAX_LEVELS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A run that waits for room."""

    id: str
    override_at: datetime | None = None
    """Set by a manual override: when it was asked for, its place among the overrides."""
    priority: Priority
    stale_seconds: float | None
    """Seconds since the routine's last success; None: there was none."""
    depth: int = 0
    least_depth: int = 0
    """Of the shallowest that waits with it: what depth counts from."""
    emphasis: float = 1.0
    eligible_at: datetime
    depth_weight: float = 0.5


RankKey = tuple[bool, datetime, int, float, datetime, str]


def rank_key(waiting: Waiting) -> RankKey:
    """Smaller goes first: overrides in order, then the priority band, then staleness; ties by age and id."""
    return (
        waiting.override_at is None,
        waiting.override_at or EPOCH,
        BANDS[waiting.priority],
        -effective_staleness(waiting),
        waiting.eligible_at,
        waiting.id,
    )


def effective_staleness(waiting: Waiting) -> float:
    """Staleness times (levels below the shallowest that waits, plus one) ** (depth weight times emphasis)."""
    stale = NEVER_SECONDS if waiting.stale_seconds is None else waiting.stale_seconds
    levels = max(0, min(MAX_LEVELS, waiting.depth - waiting.least_depth))
    exponent = max(-MAX_EXPONENT, min(MAX_EXPONENT, waiting.depth_weight * waiting.emphasis))
    return max(0.0, min(NEVER_SECONDS, stale)) * float((levels + 1.0) ** exponent)
