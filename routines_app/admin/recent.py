"""The newest slots of the routines on a page and what became of each, in one query however many routines there are.

A slot has the outcome of its last attempt: one that fails twice and succeeds then is a success. The attempts of a slot
come after its first one, so reading back from the newest run finds every attempt of each slot that it reaches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib import resources
from statistics import median
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import Case, F, IntegerField, Sum, When, Window
from django.db.models.functions import Coalesce, RowNumber

from routines_app.admin.charts import Bar
from routines_app.admin.charts.sparkline import SLOTS
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun

READ_PER_SLOT = 5  # runs: of routines that need more attempts, fewer slots are shown
COUNTED = (RunStatus.SUCCESS, RunStatus.FAILED)

# The routine, the first run of the chain, and of this attempt: status, number, start and end.
Row = tuple[int, UUID, str, int, datetime | None, datetime | None]


@dataclass(frozen=True, slots=True)
class Recent:
    """What a routine's newest slots tell, oldest first."""

    bars: Sequence[Bar] = ()

    @property
    def counted(self) -> list[Bar]:
        """The slots whose last attempt ended by itself: neither skipped or cancelled, nor still under way."""
        return [bar for bar in self.bars if bar.outcome in COUNTED]

    @property
    def success_rate(self) -> float | None:
        """The share of the counted slots that succeeded in the end; None when none are counted."""
        counted = [bar.outcome for bar in self.counted]
        return counted.count(RunStatus.SUCCESS) / len(counted) if counted else None

    @property
    def retried(self) -> int:
        """How many of the counted slots needed more than one attempt."""
        return sum(bar.attempts > 1 for bar in self.counted)

    @property
    def usual_seconds(self) -> float | None:
        """The median length of the attempts that succeeded."""
        lengths = [b.seconds for b in self.bars if b.outcome == RunStatus.SUCCESS and b.seconds is not None]
        return median(lengths) if lengths else None


def recent_runs(routine_ids: Iterable[int], *, using: str, limit: int = SLOTS) -> dict[int, Recent]:
    """The newest `limit` slots of each routine."""
    ids = list(routine_ids)
    of_each: dict[int, dict[UUID, Bar]] = defaultdict(dict)
    for routine_id, slot, status, attempt, started, completed in _rows(ids, using, limit) if ids else ():
        # Oldest first: a later attempt takes the place of those before it.
        of_each[routine_id][slot] = Bar(outcome=status, seconds=_seconds(started, completed), attempts=attempt)
    return {routine_id: Recent(_newest(of_each.get(routine_id, {}), limit)) for routine_id in ids}


def _newest(slots: dict[UUID, Bar], limit: int) -> list[Bar]:
    """In the order of their first runs, whose ids carry the time: retries do not make a slot newer."""
    return [slots[slot] for slot in sorted(slots)[-limit:]]


def _rows(ids: list[int], using: str, limit: int) -> Iterable[Row]:
    # LATERAL reads a few index entries per routine; a window function reads all runs of these routines first.
    return (
        _lateral_rows(ids, using, limit)
        if connections[using].vendor == "postgresql"
        else _window_rows(ids, using, limit)
    )


def _lateral_rows(ids: list[int], using: str, limit: int) -> list[Row]:
    with connections[using].cursor() as cursor:
        most = limit * READ_PER_SLOT
        cursor.execute(_statement(), [ids, most, limit - 1, most])
        return list(cursor.fetchall())


def _window_rows(ids: list[int], using: str, limit: int) -> Iterable[Row]:
    newest_first: dict[str, Any] = {"partition_by": F("routine_id"), "order_by": F("id").desc()}
    is_first = Case(When(chain=None, then=1), default=0, output_field=IntegerField())
    runs = RoutineRun.objects.using(using).filter(routine_id__in=ids)
    runs = runs.annotate(place=Window(RowNumber(), **newest_first), firsts=Window(Sum(is_first), **newest_first))
    newest = runs.filter(place__lte=limit * READ_PER_SLOT, firsts__lte=limit).annotate(slot=Coalesce("chain", "id"))
    return newest.order_by("id").values_list("routine_id", "slot", "status", "attempt", "started_at", "completed_at")


@lru_cache(maxsize=1)
def _statement() -> str:
    return resources.files("routines_app.admin").joinpath("sql", "recent_runs.sql").read_text(encoding="utf-8")


def _seconds(started: datetime | None, completed: datetime | None) -> float | None:
    return (completed - started).total_seconds() if started and completed else None
