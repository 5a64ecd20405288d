"""What the verbs of rotations take and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from routines_app.models import Rotation, RoutineRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """What should be a member: what a seed callable yields, and `add_members` takes."""

    name: str
    """Of its routine: unique among all routines."""
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] | None = None
    parent: str | None = None
    """The name of a routine; it may be one of those that are added with it."""
    emphasis: float = 1.0
    task: str | None = None
    """None: the rotation's `member_task`."""
    phases: Sequence[Mapping[str, Any]] | None = None
    """None: the rotation's. Each is a mapping with a name, a task and, where they differ, args and kwargs."""
    tags: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MembersAdded:
    """What became of those that were to be members."""

    created: int = 0
    joined: int = 0
    """Routines that were there, and name the rotation now."""
    kept: int = 0
    """Members already: left as they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seeded:
    """What a seeding came to."""

    created: int = 0
    kept: int = 0
    vanished: int = 0
    """Members that were not among what the callable gave."""
    archived: int = 0
    """Of these, those that were archived for it."""
    revived: int = 0
    """Archived for it once, given again, and back."""
    passed_over: int = 0
    """Given, and names of routines that are there and no members: left as they are."""
    note: str = ""
    """What a person should know, if anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pick:
    """A member that a tick would pick, or that is under way."""

    routine_id: int
    name: str
    phase: str
    """Its name; empty: the member has no phases."""
    phase_number: int
    phases: int
    stale_seconds: float
    """Since its last whole cycle, or since it became a member."""
    attempted_at: datetime | None
    failures: int
    why: str
    """A sentence for people."""
    run_id: UUID | None = None
    """Under way: the first run of the chain that it is in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RotationStatus:
    """How a rotation stands."""

    rotation: Rotation
    at: datetime
    members: int
    owed: int
    in_flight: int
    fresh: int
    failing: int
    left_out: int
    """Paused, parked or archived members."""
    stalest: str | None
    stalest_seconds: float | None
    median_seconds: float | None
    idle_multiplier: int
    skip_ticks: int
    next_tick_at: datetime | None
    last_tick: RoutineRun | None
    last_seeding: RoutineRun | None
    under_way: list[Pick] = field(default_factory=list)
    next_picks: list[Pick] = field(default_factory=list)
