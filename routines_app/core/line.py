"""QUEUE's line: in which order the waiting runs of a routine go, one after another.

A chain that has begun goes on first: its retry. Then what a person asked for, then slots and backfills by their time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from routines_app.core.words import RunTrigger

FIRST: Mapping[str, int] = MappingProxyType({RunTrigger.RETRY: 0, RunTrigger.MANUAL: 1})
"""Whose turn comes before that of all others, and in which order."""

LAST = len(FIRST)

SLOTS = frozenset({RunTrigger.SCHEDULE, RunTrigger.CATCH_UP, RunTrigger.HINT})
"""What fires by the schedule: a newer one stands for an older one that waits."""


class Place(NamedTuple):
    """Where a run stands in its routine's line. The smaller goes first."""

    turn: int
    scheduled_for: datetime
    id: UUID
    is_slot: bool


def place_of(trigger: str, scheduled_for: datetime, run_id: UUID) -> Place:
    return Place(FIRST.get(trigger, LAST), scheduled_for, run_id, trigger in SLOTS)
