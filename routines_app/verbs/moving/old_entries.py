"""The entries of another scheduler, as it has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class OldScheduler(StrEnum):
    """Where entries come from, by the name of the package, or of Celery's setting."""

    DJANGO_CELERY_BEAT = "django-celery-beat"
    REDBEAT = "celery-redbeat"
    BEAT_SCHEDULE = "beat_schedule"


@dataclass(frozen=True, kw_only=True, slots=True)
class OldEntry:
    """One entry. Nothing in it is ours: schedule and options are what the old scheduler would work with."""

    scheduler: OldScheduler
    key: str
    """Its name there."""
    task: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    schedule: Any
    """The old scheduler's own schedule object: it is asked for its next fires."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What `apply_async` would get: queue, exchange, routing_key, priority, headers, expires and others."""
    enabled: bool = True
    last_run_at: datetime | None = None
    """When it was last sent, as far as the old scheduler has written that down."""
    counts_from: datetime | None = None
    """What its next fire is counted from when it has never been sent. None: it is due at once."""
    start_at: datetime | None = None
    """It is not sent before."""
    ends_before: datetime | None = None
    """It is not sent at that moment or after it."""
    one_off: bool = False
    """It is sent once."""
    was_sent: bool = False
    """Of a one-off: it is over."""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """An entry that cannot be read. The others are read all the same."""

    key: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """All that a scheduler has, by name."""

    entries: tuple[OldEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
