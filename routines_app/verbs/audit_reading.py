"""What the audit reads: one routine after another, with its runs of the window and its whole history of changes.

Runs come in the order of (routine, id), which is that of an index, and are streamed: one routine's are in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from routines_app.core.holding import HELD_AS
from routines_app.core.keys import EPOCH
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.reading import oldest_run_id

READ_AT_ONCE = 100  # routines that one statement asks for
# A row is written after its slots, so the ids of what is asked for begin with the window; machines' clocks differ.
IDS_EARLIER = timedelta(days=1)

# Changes that leave the plan where it is, and do not even say where that is; or follow from one that is told besides.
_UNPLANNED = frozenset({ChangeKind.LEASE_RELEASED, ChangeKind.DELETED, ChangeKind.HINT_EXPIRED})
TAKEN_OVER_AFTER = "taken_over_after"
"""In `after` of the change that a switch-over writes: up to which moment slots are the old scheduler's."""
_RELEASES = frozenset({ChangeKind.RESUMED, ChangeKind.RESET})


class Row(NamedTuple):
    """A run, as far as the audit looks at it."""

    id: UUID
    routine_id: int
    status: str
    reason: str
    trigger: str
    requested_at: datetime | None
    source: str
    attempt: int
    pool_id: int | None
    scheduled_for: datetime
    scheduled_until: datetime | None
    occurrences: int
    next_planned_for: datetime | None
    eligible_at: datetime
    admitted_at: datetime | None
    dispatched_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    body_ended_at: datetime | None
    idempotency_key: str
    rotation_id: int | None
    phase: str
    tick: UUID | None

    @property
    def last(self) -> datetime:
        return self.scheduled_until or self.scheduled_for

    @property
    def is_scheduled(self) -> bool:
        """Whether it stands for slots of the schedule; retries, requests by hand, backfills and seedings do not."""
        return self.attempt == 1 and self.idempotency_key.startswith("s:")


class Change(NamedTuple):
    id: int
    routine_id: int
    kind: str
    at: datetime
    before: dict[str, Any]
    after: dict[str, Any]
    next_slot: datetime | None

    @property
    def holds_from(self) -> datetime:
        """Slots after this that were planned before are taken back. A switch-over takes back what nobody has fired."""
        taken_over = self.after.get(TAKEN_OVER_AFTER)
        return self.at if taken_over is None else datetime.fromisoformat(taken_over)


@dataclass(frozen=True, kw_only=True)
class Story:
    """A routine, its runs in order of their writing, and its whole history of changes."""

    routine: Routine
    runs: Sequence[Row]
    changes: Sequence[Change]
    since: datetime
    until: datetime
    """Slots in `(since, until]` are judged; some rows before and after are known too."""
    now: datetime

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The rows that stand for slots, in the order of these."""
        return sorted((run for run in self.runs if run.is_scheduled), key=lambda row: (row.scheduled_for, row.id))

    @cached_property
    def planned(self) -> Sequence[Change]:
        """The changes that said which slot comes next. What is archived now, the last archiving left without any."""
        told = [change for change in self.changes if change.kind not in _UNPLANNED]
        if self.routine.status == RoutineStatus.ARCHIVED:
            while any(change.kind == ChangeKind.ARCHIVED for change in told[:-1]) and not self._ends_archived(told):
                told.pop()
        return told

    @cached_property
    def last_to_plan(self) -> dict[datetime | None, int]:
        """By slot, the last change that said that it comes next."""
        return {change.next_slot: change.id for change in self.planned}

    @cached_property
    def releases(self) -> Sequence[datetime]:
        """When somebody ended a pause or a parking."""
        return [change.at for change in self.changes if change.kind in _RELEASES]

    @property
    def is_archived_unsaid(self) -> bool:
        """Archived by plain SQL: nobody knows since when."""
        return self.routine.status == RoutineStatus.ARCHIVED and not self._ends_archived(self.planned)

    @property
    def held(self) -> bool:
        """Whether its next slot waits for somebody: the end of a pause, a reset, the chain before it."""
        asleep = self.routine.status in HELD_AS or self.routine.status == RoutineStatus.ARCHIVED
        return asleep or self.is_just_released or self.routine.state.next_source == Source.CATCHING_UP

    @property
    def is_just_released(self) -> bool:
        """Whether slots of the window became due after it, with the end of their pause: a beat is about to come."""
        state = self.routine.state
        if state.next_slot is None or state.next_run_at is None:
            return False
        return state.next_slot <= self.until < state.next_run_at

    @staticmethod
    def _ends_archived(changes: Sequence[Change]) -> bool:
        return bool(changes) and changes[-1].kind == ChangeKind.ARCHIVED


def count_routines() -> int:
    return _routines().count()


def read_stories(since: datetime, until: datetime, now: datetime) -> Iterator[Story]:
    batch: list[Routine] = []
    for routine in _routines().select_related("state").order_by("pk").iterator(chunk_size=READ_AT_ONCE):
        batch.append(routine)
        if len(batch) == READ_AT_ONCE:
            yield from _stories_of(batch, since, until, now)
            batch = []
    yield from _stories_of(batch, since, until, now)


def _routines() -> QuerySet[Routine]:
    return Routine.objects.using(ledger_alias()).filter(state__isnull=False)


def _stories_of(routines: list[Routine], since: datetime, until: datetime, now: datetime) -> Iterator[Story]:
    ids = [routine.pk for routine in routines]
    changes, groups = _changes(ids), groupby(_runs(ids, since), key=lambda run: run.routine_id)
    found = next(groups, None)
    for routine in routines:
        runs: list[Row] = []
        if found is not None and found[0] == routine.pk:
            runs = list(found[1])
            found = next(groups, None)
        yield Story(
            routine=routine,
            runs=runs,
            changes=changes[routine.pk],
            since=max(since, routine.created_at),
            until=until,
            now=now,
        )


def _runs(routine_ids: list[int], since: datetime) -> Iterator[Row]:
    oldest = oldest_run_id(max(since, EPOCH + IDS_EARLIER) - IDS_EARLIER)
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id__in=routine_ids, id__gte=oldest)
    for values in runs.order_by("routine_id", "id").values_list(*Row._fields).iterator():
        yield Row._make(values)


def _changes(routine_ids: list[int]) -> dict[int, list[Change]]:
    written = ScheduleChange.objects.using(ledger_alias()).filter(routine_id__in=routine_ids).order_by("id")
    found: dict[int, list[Change]] = defaultdict(list)
    for values in written.values_list(*Change._fields).iterator():
        change = Change._make(values)
        found[change.routine_id].append(change)
    return found
