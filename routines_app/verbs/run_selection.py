"""Which runs are meant: a filter that lists, counts and acts all read in the same way, within bounds.

Of what a filter says, an index leads to one part: the routine, else the status, else a rare trigger, and the time of
creation, which the ids carry. The rest is looked for row by row, so a reader never looks at more than a stretch of the
rows that the index leads to (`stretch`), and goes on from there when it is asked to. A kind of error is compared here,
not in the database: by the text that people see, so that nobody finds out what is masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import connections
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import RARE_TRIGGERS, Reason, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import find_pool, id_of
from routines_app.verbs.checking.rules import Text, Word, moment
from routines_app.verbs.reading import oldest_run_id
from routines_app.verbs.run_errors import LINES_READ, read_lines

LOOKED_THROUGH = 50_000  # rows that one reader looks at: some 100 ms
OF_A_ROUTINE = 10_000  # the same of one routine's, which lie far apart: each is read from a page of its own
TEXT = Text(longest=255, required=True)
ACTIVE_STATUSES = (RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSelection:
    """What is asked for, checked; a part that is None (or False) leaves it open."""

    routine_id: int | None = None
    status: str | None = None
    trigger: str | None = None
    reason: str | None = None
    pool_id: int | None = None
    queue: str | None = None
    worker: str | None = None
    task: str | None = None
    error: str | None = None
    """Only failures of this kind, as `error_groups` tells them."""
    final: bool = False
    """Only failures with no further attempt."""
    unrepeated: bool = False
    """Only what nobody has asked for again."""
    active: bool = False
    """Only what waits or runs."""
    since: datetime | None = None
    until: datetime | None = None
    """When the run was made: from `since` on, and before `until`."""

    @classmethod
    def of(
        cls,
        *,
        routine: Routine | int | str | None = None,
        status: str | None = None,
        trigger: str | None = None,
        reason: str | None = None,
        pool: Pool | int | str | None = None,
        queue: str | None = None,
        worker: str | None = None,
        task: str | None = None,
        error: str | None = None,
        final: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Self:
        """The filter, or the error that names the part that is wrong."""
        found = cls(
            routine_id=None if routine is None else id_of(routine),
            status=None if status is None else Word(RunStatus)("status", status),
            trigger=None if trigger is None else Word(RunTrigger)("trigger", trigger),
            reason=None if reason is None else Word(Reason)("reason", reason),
            pool_id=None if pool is None else find_pool(pool).pk,
            queue=None if queue is None else TEXT("queue", queue),
            worker=None if worker is None else TEXT("worker", worker),
            task=None if task is None else TEXT("task", task),
            error=None if error is None else TEXT("error", error),
            final=final,
            since=None if since is None else moment("since", since),
            until=None if until is None else moment("until", until),
        )
        if found.since and found.until and found.since >= found.until:
            raise InvalidValue("until", str(until), said("give a time after {since}", since=found.since.isoformat()))
        return found

    @property
    def is_open(self) -> bool:
        """Whether it says nothing: then it means every run there is."""
        return self == RunSelection()

    def page(self, *, limit: int, before: UUID | None = None, after: UUID | None = None) -> Page:
        """The next ids: newest first and made before `before`, or oldest first and made after `after`."""
        stretch = self.stretch(before=before, after=after)
        rows = stretch.runs.order_by("-id" if after is None else "id")
        if self.error is None:
            return Page(ids=tuple(rows.values_list("pk", flat=True)[:limit]), end=stretch.end)
        return self._page_of_errors(rows, limit, stretch.end)

    def _page_of_errors(self, rows: QuerySet[RoutineRun], limit: int, end: UUID | None) -> Page:
        found: list[UUID] = []
        for read, line in enumerate(read_lines(rows), start=1):
            if line.kind == self.error:
                found.append(line.run_id)
            if read == LINES_READ:
                end = line.run_id
            if len(found) == limit:
                break
        return Page(ids=tuple(found), end=end)

    def stretch(self, *, before: UUID | None = None, after: UUID | None = None) -> Stretch:
        """The runs within the rows that one reader looks at; errors are not compared."""
        rows = self._indexed()
        rows = rows if before is None else rows.filter(pk__lt=before)
        rows = rows if after is None else rows.filter(pk__gt=after)
        end = None if self._rest() == Q() else self._end(rows, onwards=after is not None)
        if end is not None:
            rows = rows.filter(pk__lte=end) if after is not None else rows.filter(pk__gte=end)
        return Stretch(runs=rows.filter(self._rest()), end=end)

    def _end(self, rows: QuerySet[RoutineRun], *, onwards: bool) -> UUID | None:
        """The last row that is looked at; None: that is all of them."""
        most = LOOKED_THROUGH if self.routine_id is None else min(OF_A_ROUTINE, LOOKED_THROUGH)
        in_order = rows.order_by("id" if onwards else "-id").values_list("pk", flat=True)
        return next(iter(in_order[most - 1 : most]), None)

    def _indexed(self) -> QuerySet[RoutineRun]:
        runs = RoutineRun.objects.using(ledger_alias()).filter(**self._led_to())
        runs = runs if self.since is None else runs.filter(pk__gte=oldest_run_id(self.since))
        return runs if self.until is None else runs.filter(pk__lt=oldest_run_id(self.until))

    def _led_to(self) -> dict[str, Any]:
        """What an index leads to."""
        if self.routine_id is not None:
            return {"routine_id": self.routine_id}
        if self.final or self.error is not None:
            return {"status": RunStatus.FAILED}
        if self.status is not None:
            return {"status": self.status}
        if self.active:
            return {"status__in": ACTIVE_STATUSES}
        if self.trigger in RARE_TRIGGERS and connections[ledger_alias()].vendor == "postgresql":
            return {"trigger": self.trigger}  # the others do not see that this index is for it, or have none
        return {}

    def _rest(self) -> Q:
        columns = ("status", "trigger", "reason", "pool_id", "queue", "worker", "task")
        asked = {name: getattr(self, name) for name in columns if getattr(self, name) is not None}
        led_to = self._led_to()
        rest = Q(**{name: value for name, value in asked.items() if led_to.get(name) != value})
        if self.error is not None and led_to.get("status") != RunStatus.FAILED:
            rest &= Q(status=RunStatus.FAILED)
        if self.active and "status__in" not in led_to:
            rest &= Q(status__in=ACTIVE_STATUSES)
        if self.unrepeated:
            rest &= ~Q(done_again())
        return rest & final_failure() if self.final else rest


class Stretch(NamedTuple):
    """The runs of a filter within the rows that one reader looks at."""

    runs: QuerySet[RoutineRun]
    end: UUID | None
    """The last row that was looked at, where there may be more beyond; None: there is nothing beyond."""


class Page(NamedTuple):
    """Some of the runs of a filter."""

    ids: tuple[UUID, ...]
    end: UUID | None
    """As of a stretch; there may also be more before it where the page is full."""


def final_failure() -> Q:
    """Failures that nothing follows: no later attempt of their chain."""
    later = RoutineRun.objects.using(ledger_alias()).filter(
        chain=Coalesce(OuterRef("chain"), OuterRef("pk")), attempt__gt=OuterRef("attempt")
    )
    return Q(status=RunStatus.FAILED) & ~Q(Exists(later))


def done_again() -> Exists:
    """Whether somebody has asked for it again, and that run was not skipped or cancelled."""
    again = RoutineRun.objects.using(ledger_alias()).filter(retry_of=OuterRef("pk"), chain__isnull=True)
    return Exists(again.exclude(status__in=[RunStatus.SKIPPED, RunStatus.CANCELLED]))
