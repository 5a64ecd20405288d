"""What an import is going to do, decided and checked: `drafting` makes it, `creating` and `applying` carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from routines_app.models import Pool, Rotation, Routine
from routines_app.verbs.exports.plan_values import ImportPlan
from routines_app.verbs.exports.wanted import Pause


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How to import."""

    secrets: Mapping[str, str]
    archive_missing: bool = False
    allow_unknown_task: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Owed:
    """Slots from before a routine was created that it has to account for: another scheduler has not sent them."""

    after: datetime | None
    """What is accounted for. None: the schedule begins with the first slot."""
    first: datetime


@dataclass(kw_only=True, slots=True)
class New:
    """A routine that is to be created. Whatever refers to it holds this instance, which gets its id when written."""

    routine: Routine
    cleaned: dict[str, Any]
    rotation: Rotation | None = None
    """What it is the clock of."""
    own: dict[str, Any] = field(default_factory=dict)
    """That rotation's columns."""
    pause: Pause | None = None
    archived: bool = False
    owed: Owed | None = None


@dataclass(kw_only=True, slots=True)
class Changed:
    """A routine that is to be changed."""

    routine: Routine
    changes: dict[str, Any]
    own: dict[str, Any] = field(default_factory=dict)
    """Columns of the rotation that it is the clock of."""
    pause: Pause | bool | None = None
    """None: as it is. False: it is resumed."""
    archived: bool = False


@dataclass(kw_only=True)
class Draft:
    plan: ImportPlan
    new_pools: list[Pool] = field(default_factory=list)
    changed_pools: list[tuple[Pool, dict[str, Any]]] = field(default_factory=list)
    new: list[New] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    depths: dict[str, int] = field(default_factory=dict)
    """How deep each stands afterwards."""

    @property
    def locked_ids(self) -> list[int]:
        return sorted(each.routine.pk for each in self.changed)

    @property
    def touches_pools(self) -> bool:
        return bool(self.new_pools or self.changed_pools)
