"""The runs of a window that are too many to be drawn one by one: counted and measured in buckets of the same length.

A run belongs to the bucket in which its row was created: ids carry that time, so the index (routine, id) leads to the
runs of each bucket, and of a busy one only the newest are read. These then stand for all of it, as densely as they lie:
the cost of a picture follows how many buckets it has, and not how many runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from statistics import quantiles
from typing import NamedTuple
from uuid import UUID

from django.db.models import Case, F, When

from routines_app import service
from routines_app.admin.run_facts import due_at
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun

BUCKETS = 60
READ_PER_BUCKET = 40  # runs: what all buckets together cost is felt, but not waited for
TIMES = ("started_at", "completed_at", "scheduled_for", "eligible_at", "scheduled_until")
TRIED_AGAIN = "retried"
KINDS = ("success", TRIED_AGAIN, "failed", "running", "pending", "skipped", "cancelled")


class Row(NamedTuple):
    """What is read of a run: thousands are, so what the database can subtract it subtracts."""

    id: UUID
    chain: UUID | None
    attempt: int
    status: str
    took: float | None
    late: float | None
    """Below zero: it started early."""
    occurrences: int = 1
    scheduled_for: datetime | None = None
    """Of a row that stands for many slots the first, and the last; of others they are not read."""
    scheduled_until: datetime | None = None

    @property
    def chain_id(self) -> UUID:
        return self.chain or self.id


class Quantiles(NamedTuple):
    """Seconds: half of what was measured stays within `middle`, 95 % within `high`."""

    middle: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    begin: datetime
    end: datetime
    counts: dict[str, int]
    """By kind, for the kinds that there are: outcomes, and attempts that were `retried`."""
    durations: Quantiles | None
    lateness: Quantiles | None
    is_estimate: bool
    """It has more runs than were read."""


def read_buckets(routine: Routine, start: datetime, end: datetime) -> list[Bucket]:
    """The buckets of the time from `start` to `end`, oldest first, in one statement."""
    edges = [start + (end - start) * place / BUCKETS for place in range(BUCKETS + 1)]
    return bucketed(_read(routine, edges), edges)


def _read(routine: Routine, edges: Sequence[datetime]) -> Iterable[Row]:
    """The newest runs of each bucket."""
    runs = RoutineRun.objects.using(service.ledger_alias()).filter(routine_id=routine.pk)
    rows = runs.filter(service.readable(*TIMES)).values_list(
        "id",
        "chain",
        "attempt",
        "status",
        service.SecondsBetween("started_at", "completed_at"),
        service.SecondsBetween(due_at(), "started_at"),
        "occurrences",
        Case(When(occurrences__gt=1, then=F("scheduled_for"))),
        Case(When(occurrences__gt=1, then=F("scheduled_until"))),
    )
    ids = [service.oldest_run_id(edge) for edge in edges]
    each = [{"pk__gte": first, "pk__lt": beyond} for first, beyond in pairwise(ids)]
    return map(Row._make, service.rows_together(rows.order_by("-id"), each, limit=READ_PER_BUCKET))


def bucketed(runs: Iterable[Row], edges: Sequence[datetime]) -> list[Bucket]:
    """The runs, sorted into the buckets between the edges."""
    of_each: list[list[Row]] = [[] for _ in edges[1:]]
    last_attempts: dict[UUID, int] = {}
    skipped = [0] * len(of_each)
    for run in runs:
        last_attempts[run.chain_id] = max(run.attempt, last_attempts.get(run.chain_id, 0))
        if run.occurrences > 1:
            skipped = [before + more for before, more in zip(skipped, slots_within(run, edges), strict=True)]
        else:
            of_each[_place(service.run_created_at(run.id), edges)].append(run)
    return [
        _bucket(found, edges[place], edges[place + 1], last_attempts, skipped[place])
        for place, found in enumerate(of_each)
    ]


def slots_within(run: Row, edges: Sequence[datetime]) -> list[int]:
    """How many of the slots that a row stands for lie in each bucket, if they are as far apart from each other."""
    first = run.scheduled_for or service.run_created_at(run.id)
    last = run.scheduled_until or first
    apart = (last - first) / (run.occurrences - 1) or timedelta(microseconds=1)
    before = [min(max(ceil((edge - first) / apart), 0), run.occurrences) for edge in edges]
    return [later - earlier for earlier, later in pairwise(before)]


def _place(at: datetime, edges: Sequence[datetime]) -> int:
    length = edges[1] - edges[0]
    return min(max((at - edges[0]) // length, 0), len(edges) - 2)


def _bucket(
    runs: Sequence[Row], begin: datetime, end: datetime, last_attempts: dict[UUID, int], skipped: int
) -> Bucket:
    weight = _weight(runs, begin, end)
    counted = Counter(_kind(run, last_attempts) for run in runs)
    counts = {kind: round(count * weight) for kind, count in counted.items()}
    if skipped:
        counts["skipped"] = counts.get("skipped", 0) + skipped
    return Bucket(
        begin=begin,
        end=end,
        counts={kind: counts[kind] for kind in KINDS if kind in counts},
        durations=_measured(run.took for run in runs),
        lateness=_measured(None if run.late is None else max(0.0, run.late) for run in runs),
        is_estimate=len(runs) >= READ_PER_BUCKET,
    )


def _weight(runs: Sequence[Row], begin: datetime, end: datetime) -> float:
    """For how many runs each one stands that was read: those before it are taken to lie as densely."""
    if len(runs) < READ_PER_BUCKET:
        return 1.0
    covered = end - service.run_created_at(min(run.id for run in runs))
    return max((end - begin) / covered, 1.0) if covered > timedelta() else 1.0


def _kind(run: Row, last_attempts: dict[UUID, int]) -> str:
    was_last = run.attempt == last_attempts[run.chain_id]
    return TRIED_AGAIN if run.status != RunStatus.SUCCESS and not was_last else run.status.lower()


def _measured(lengths: Iterable[float | None]) -> Quantiles | None:
    known = [length for length in lengths if length is not None]
    if len(known) < 2:
        return Quantiles(known[0], known[0]) if known else None
    twentieths = quantiles(known, n=20, method="inclusive")
    return Quantiles(twentieths[9], twentieths[18])
