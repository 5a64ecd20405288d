"""The facts: rows of the ledger and of the history, as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from routines_app.models import Pool, Routine, RoutineRun, RoutineState, ScheduleChange

# Changes that leave the plan alone: the pointer to the next slot does not move with them.
UNPLANNED = frozenset({"lease_released", "deleted", "hint_expired"})
# Moments that are none of the schedule's own: a hint or a clamp chose them.
HINTED = frozenset({"hint-oneshot", "hint-interval", "hint-factor", "clamped-min", "clamped-max"})


@dataclass(frozen=True, kw_only=True)
class Run:
    """One row of the ledger."""

    id: UUID
    routine_id: int
    status: str
    reason: str
    trigger: str
    source: str
    pool_id: int | None
    scheduled_for: datetime
    scheduled_until: datetime | None
    occurrences: int
    next_planned_for: datetime | None
    eligible_at: datetime
    dispatched_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    attempt: int
    budget_used: int
    retry_of_id: UUID | None
    chain: UUID | None
    fence: int | None
    idempotency_key: str
    rotation_id: int | None
    tick: UUID | None

    @property
    def is_scheduled(self) -> bool:
        """It stands for slots of the schedule; retries, manual requests and backfills do not."""
        return self.attempt == 1 and self.idempotency_key.startswith("s:")

    @property
    def last(self) -> datetime:
        return self.scheduled_until or self.scheduled_for

    @property
    def is_passed_over(self) -> bool:
        """It stands for cron slots that a hint, a clamp or a change went past: nobody had planned them."""
        return self.reason == "superseded" or (self.status == "SKIPPED" and self.source in HINTED)

    @property
    def active(self) -> bool:
        return self.status in ("PENDING", "RUNNING")

    @property
    def has_no_body(self) -> bool:
        """Ticks are done by the beats, and a seeding writes no line of its own."""
        return self.reason == "picked" or (self.rotation_id is not None and self.rotation_id == self.routine_id)


@dataclass(frozen=True, kw_only=True)
class Ticked:
    """A tick of a rotation, and what it says that it did."""

    id: UUID
    routine_id: int
    status: str
    reason: str
    picked: int
    budget: int


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row of a routine's history."""

    id: int
    routine_id: int
    kind: str
    at: datetime
    actor: str
    before: dict[str, Any]
    after: dict[str, Any]
    next_slot: datetime | None


@dataclass(kw_only=True)
class History:
    """A routine with everything that is known about it."""

    definition: Mapping[str, Any]
    state: Mapping[str, Any]
    runs: list[Run] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    ticks: list[Ticked] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def scheduled(self) -> list[Run]:
        return [run for run in self.runs if run.is_scheduled]


def read_histories() -> list[History]:
    """Everything in the database as of one moment, a routine at a time, each list in the order of writing."""
    with transaction.atomic():
        if connection.vendor == "postgresql":  # beats may be at work: rows and states must be of the same moment
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return read_all()


def read_all() -> list[History]:
    states = {row["routine_id"]: row for row in RoutineState.objects.values()}
    found = {row["id"]: History(definition=row, state=states[row["id"]]) for row in Routine.objects.values()}
    for row in RoutineRun.objects.order_by("id").values(*Run.__dataclass_fields__):
        found[row["routine_id"]].runs.append(Run(**row))
    changes = ScheduleChange.objects.filter(routine__isnull=False).order_by("id")
    for row in changes.values(*Change.__dataclass_fields__):
        found[row["routine_id"]].changes.append(Change(**row))
    for tick in read_ticks():
        found[tick.routine_id].ticks.append(tick)
    return [found[key] for key in sorted(found)]


def read_ticks() -> Iterator[Ticked]:
    """Of each rotation; whatever else its own routine has fired is a seeding."""
    rows = RoutineRun.objects.filter(routine__rotates__isnull=False).exclude(phase="seed").order_by("id")
    results: dict[UUID, Any] = dict(rows.values_list("id", "result"))
    for row in rows.values("id", "routine_id", "status", "reason"):
        saw = results[row["id"]]
        picked, budget = (len(saw["picked"]), saw["budget"]) if row["status"] == "SUCCESS" else (0, 0)
        yield Ticked(picked=picked, budget=budget, **row)


def read_ceilings() -> dict[int, int]:
    return dict(Pool.objects.values_list("id", "max_concurrent"))


def chains_of(runs: list[Run]) -> dict[UUID, list[Run]]:
    """The runs by the id of their chain's first run, in order of attempt."""
    chains: dict[UUID, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.attempt):
        chains[run.chain or run.id].append(run)
    return chains
