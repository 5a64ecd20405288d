"""What a plan of moving over tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from routines_app.verbs.moving.comparing import Comparison
from routines_app.verbs.moving.old_entries import OldScheduler


class MoveAct(StrEnum):
    """What becomes of an entry."""

    CREATE = "create"
    THERE = "already there"
    """An import has made its routine before."""
    BEATS = "left to the beats"
    """It stands in `beat_schedule`, which our beats import by themselves."""
    OVER = "over"
    """It will never be sent again."""
    REFUSE = "refused"
    """It stays with the old scheduler."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """What becomes of one entry. Secrets are masked."""

    key: str
    """Its name in the old scheduler; that of its routine too."""
    act: MoveAct
    why: str = ""
    routine_id: int | None = None
    """Of one that is there, or has been made."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of the routine, as it is stored."""
    paused: str = ""
    """Why it comes paused."""
    overdue_since: datetime | None = None
    """The old scheduler has not sent it when it should have: the first beat that looks does."""
    changed: tuple[str, ...] = ()
    """What is not quite as it was."""
    cannot: tuple[str, ...] = ()
    """What cannot be carried."""
    comparison: Comparison | None = None
    """None: nothing of it will fire."""

    @property
    def differs(self) -> bool:
        return self.comparison is not None and bool(self.comparison.differences)

    @property
    def is_exact(self) -> bool:
        """All of it is carried, and fires as before."""
        return self.act is not MoveAct.REFUSE and not self.cannot and not self.differs


@dataclass(frozen=True, kw_only=True, slots=True)
class MovePlan:
    """What moving over does, or would do."""

    scheduler: OldScheduler
    moves: tuple[Move, ...]
    """By name; an entry that cannot be read is refused."""
    shadow: bool = False

    def count(self, act: MoveAct) -> int:
        return sum(move.act is act for move in self.moves)

    @property
    def is_exact(self) -> bool:
        """Everything is carried, and every fire is the old one."""
        return all(move.is_exact for move in self.moves)
