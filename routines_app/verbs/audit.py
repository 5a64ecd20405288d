"""The audit: recompute what should have fired, and compare it with the ledger.

Two questions about each routine, over a window of time. *Coverage*: each slot of its cron, by the schedule that held at
that time, is in exactly one row or one counted span (`audit_slots.py`). *Continuity*: each row and each change of the
schedule says which slot was planned next, and that slot has a row too, unless a later change took it back in time. An
interval moves with hints, clamps and failures, so continuity is what can be asked of it. Nothing is written here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q

from routines_app.core.durations import parse_duration
from routines_app.core.holding import HELD_AS
from routines_app.core.keys import EPOCH
from routines_app.core.words import Source
from routines_app.models import ChangeKind, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.audit_slots import check_coverage, is_passed_over

READ_AT_ONCE = 500  # routines whose rows are in memory together
LATE = timedelta(seconds=60)  # a slot that became due less than this ago may still be without a row
CLOCK_SLACK = timedelta(seconds=1)  # between a machine's clock, in a run's id, and the database's


class Row(NamedTuple):
    """A row that stands for slots of the schedule."""

    id: UUID
    routine_id: int
    status: str
    reason: str
    source: str
    scheduled_for: datetime
    scheduled_until: datetime | None
    occurrences: int
    next_planned_for: datetime | None

    @property
    def last(self) -> datetime:
        return self.scheduled_until or self.scheduled_for

    @property
    def written_after(self) -> datetime:
        """Not later than its writing: a slot is never claimed early, and the id carries the time."""
        return max(self.last, EPOCH + timedelta(milliseconds=self.id.int >> 80) - CLOCK_SLACK)


class Change(NamedTuple):
    id: int
    routine_id: int
    kind: str
    at: datetime
    before: dict[str, Any]
    after: dict[str, Any]
    next_slot: datetime | None


@dataclass(frozen=True, slots=True)
class Imbalance:
    """One thing that does not balance."""

    routine: str
    slot: datetime
    what: str

    def __str__(self) -> str:
        return f"{self.routine}: {self.slot.isoformat()} {self.what}"


@dataclass(kw_only=True)
class Audit:
    """What the audit looked at and what it found."""

    since: datetime
    until: datetime
    routines: int = 0
    slots: int = 0
    imbalances: list[Imbalance] = field(default_factory=list)

    @property
    def balances(self) -> bool:
        return not self.imbalances


@dataclass(frozen=True, kw_only=True)
class Story:
    """A routine, its rows of the window in order of their slots, and its whole history of changes."""

    routine: Routine
    rows: Sequence[Row]
    changes: Sequence[Change]
    since: datetime
    until: datetime

    @property
    def held(self) -> bool:
        """Whether its next slot waits for somebody: the end of a pause, a reset, the chain before it."""
        return self.routine.status in HELD_AS or self.routine.state.next_source == Source.CATCHING_UP


def audit(since: datetime | timedelta | str | int = "24h", *, now: datetime | None = None) -> Audit:
    """Audit every routine from `since`, a moment or how far to look back, to `LATE` ago."""
    now = now or clock.now()
    if not isinstance(since, datetime):
        since = now - timedelta(milliseconds=parse_duration(since, field="since"))
    found = Audit(since=since, until=now - LATE)
    for story in _stories(since, found.until):
        found.routines += 1
        found.slots += sum(row.occurrences for row in story.rows)
        found.imbalances += sorted(_imbalances(story), key=lambda imbalance: imbalance.slot)
    return found


def _imbalances(story: Story) -> Iterator[Imbalance]:
    seen: set[datetime] = set()
    for slot, what in [*check_coverage(story), *_check_continuity(story)]:
        if slot not in seen:  # one finding per slot says enough
            seen.add(slot)
            yield Imbalance(story.routine.name, slot, what)


def _check_continuity(story: Story) -> Iterator[tuple[datetime, str]]:
    by_slot = {row.scheduled_for for row in story.rows}
    planned: set[datetime] = set()
    for slot, announced_at, change_id in _announcements(story):
        planned.add(slot)
        if (
            slot in by_slot
            or not story.since < slot <= story.until
            or _taken_back(story, slot, announced_at, change_id)
        ):
            continue
        if slot == story.routine.state.next_slot:
            if not story.held:
                yield slot, "is due and no beat has claimed it"
        else:
            yield slot, "was planned and has no row"
    for before, row in pairwise(story.rows):  # what planned the first one is before the window
        broken = before.next_planned_for is not None and before.next_planned_for not in by_slot  # said above
        if row.scheduled_for not in planned and not is_passed_over(row) and not broken:
            yield row.scheduled_for, f"has a row ({row.status}) and was never planned"


def _announcements(story: Story) -> Iterator[tuple[datetime, datetime, int | None]]:
    """(slot, not announced before, by which change) for everything that said which slot comes next."""
    for row in story.rows:
        if row.next_planned_for is not None:
            yield row.next_planned_for, row.written_after, None
    for change in story.changes:
        if change.next_slot is not None:
            yield change.next_slot, change.at, change.id


def _taken_back(story: Story, slot: datetime, announced_at: datetime, change_id: int | None) -> bool:
    """Whether a later change moved the plan before the slot came."""
    later = (change for change in story.changes if change_id is None or change.id > change_id)
    return any(announced_at <= change.at < slot for change in later)


def _stories(since: datetime, until: datetime) -> Iterator[Story]:
    routines = Routine.objects.using(ledger_alias()).select_related("state").filter(state__isnull=False)
    batch: list[Routine] = []
    for routine in routines.order_by("pk").iterator(chunk_size=READ_AT_ONCE):
        batch.append(routine)
        if len(batch) == READ_AT_ONCE:
            yield from _stories_of(batch, since, until)
            batch = []
    yield from _stories_of(batch, since, until)


def _stories_of(routines: list[Routine], since: datetime, until: datetime) -> Iterator[Story]:
    ids = [routine.pk for routine in routines]
    rows, changes = _rows(ids, since), _changes(ids)
    for routine in routines:
        ended = [change.at for change in changes[routine.pk] if change.kind == ChangeKind.ARCHIVED]
        yield Story(
            routine=routine,
            rows=rows[routine.pk],
            changes=changes[routine.pk],
            since=max(since, routine.created_at),
            until=min([until, *ended]),
        )


def _rows(routine_ids: list[int], since: datetime) -> dict[int, list[Row]]:
    """Rows of slots after `since`; one that began before and reaches into the window is among them."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id__in=routine_ids, attempt=1)
    scheduled = runs.filter(Q(scheduled_for__gt=since) | Q(scheduled_until__gt=since), idempotency_key__startswith="s:")
    found: dict[int, list[Row]] = defaultdict(list)
    for values in scheduled.order_by("scheduled_for", "id").values_list(*Row._fields).iterator():
        row = Row._make(values)
        found[row.routine_id].append(row)
    return found


def _changes(routine_ids: list[int]) -> dict[int, list[Change]]:
    written = ScheduleChange.objects.using(ledger_alias()).filter(routine_id__in=routine_ids).order_by("id")
    found: dict[int, list[Change]] = defaultdict(list)
    for values in written.values_list(*Change._fields).iterator():
        change = Change._make(values)
        found[change.routine_id].append(change)
    return found
