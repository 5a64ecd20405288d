"""Rank: the order in which waiting runs get the room that appears."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from routines_app.core.words import Priority

BANDS = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
MAX_EXPONENT = 64.0  # far beyond any sensible emphasis, and neither overflow nor zero can come of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A run that waits for room."""

    id: str
    override_order: float | None = None
    """Set by a manual override: its place among the overrides, the smallest first."""
    priority: Priority
    stale_seconds: float
    """Seconds since the routine's last success, or since its creation when there was none."""
    depth: int = 0
    max_depth: int = 0
    emphasis: float = 1.0
    eligible_at: datetime
    depth_weight: float = 0.5


RankKey = tuple[bool, float, int, float, datetime, str]


def rank_key(waiting: Waiting) -> RankKey:
    """Smaller goes first: overrides in order, then the priority band, then staleness; ties by age and id."""
    return (
        waiting.override_order is None,
        waiting.override_order or 0.0,
        BANDS[waiting.priority],
        -effective_staleness(waiting),
        waiting.eligible_at,
        waiting.id,
    )


def effective_staleness(waiting: Waiting) -> float:
    """Staleness times (normalized depth + 1) to the power of (depth weight times emphasis)."""
    normalized = min(1.0, waiting.depth / waiting.max_depth) if waiting.max_depth > 0 else 0.0
    exponent = max(-MAX_EXPONENT, min(MAX_EXPONENT, waiting.depth_weight * waiting.emphasis))
    return max(0.0, waiting.stale_seconds) * float((normalized + 1.0) ** exponent)
