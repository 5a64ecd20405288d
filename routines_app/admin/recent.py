"""The newest runs of the routines on a page, in one query however many routines there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib import resources
from statistics import median

from django.db import connections
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from routines_app.admin.charts import Bar
from routines_app.admin.charts.sparkline import SLOTS
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun

Row = tuple[int, str, datetime | None, datetime | None]


@dataclass(frozen=True, slots=True)
class Recent:
    """What a routine's newest runs tell, oldest first."""

    bars: Sequence[Bar] = ()

    @property
    def success_rate(self) -> float | None:
        """Successes among the runs that ended by themselves; None when none did."""
        ended = [bar.outcome for bar in self.bars if bar.outcome in (RunStatus.SUCCESS, RunStatus.FAILED)]
        return ended.count(RunStatus.SUCCESS) / len(ended) if ended else None

    @property
    def usual_seconds(self) -> float | None:
        """The median length of successful runs."""
        lengths = [b.seconds for b in self.bars if b.outcome == RunStatus.SUCCESS and b.seconds is not None]
        return median(lengths) if lengths else None


def recent_runs(routine_ids: Iterable[int], *, using: str, limit: int = SLOTS) -> dict[int, Recent]:
    """The newest `limit` runs of each routine."""
    ids = list(routine_ids)
    bars: dict[int, list[Bar]] = defaultdict(list)
    for routine_id, status, started, completed in _rows(ids, using, limit) if ids else ():
        bars[routine_id].append(Bar(outcome=status, seconds=_seconds(started, completed)))
    return {routine_id: Recent(bars.get(routine_id, ())) for routine_id in ids}


def _rows(ids: list[int], using: str, limit: int) -> Iterable[Row]:
    # LATERAL reads 30 index entries per routine; a window function reads all runs of these routines first.
    return (
        _lateral_rows(ids, using, limit)
        if connections[using].vendor == "postgresql"
        else _window_rows(ids, using, limit)
    )


def _lateral_rows(ids: list[int], using: str, limit: int) -> list[Row]:
    with connections[using].cursor() as cursor:
        cursor.execute(_statement(), [ids, limit])
        return list(cursor.fetchall())


def _window_rows(ids: list[int], using: str, limit: int) -> Iterable[Row]:
    place = Window(RowNumber(), partition_by=F("routine_id"), order_by=F("id").desc())
    newest = RoutineRun.objects.using(using).filter(routine_id__in=ids).annotate(place=place).filter(place__lte=limit)
    return newest.order_by("id").values_list("routine_id", "status", "started_at", "completed_at")


@lru_cache(maxsize=1)
def _statement() -> str:
    return resources.files("routines_app.admin").joinpath("sql", "recent_runs.sql").read_text(encoding="utf-8")


def _seconds(started: datetime | None, completed: datetime | None) -> float | None:
    return (completed - started).total_seconds() if started and completed else None
