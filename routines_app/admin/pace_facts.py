"""How far a routine's slots were apart, and why: what the chart of its pace draws, in one bounded query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app import service
from routines_app.admin.charts import Change, Step, pace
from routines_app.admin.phrases import clock_time, seconds_in_words, source_in_words
from routines_app.admin.translating import grouped
from routines_app.core.words import HINTED, RunTrigger, Source
from routines_app.masks import masked_line
from routines_app.models import ChangeKind, Routine, RoutineRun, ScheduleChange

LOOKED_AT = 300  # rows, retries and manual runs included: no index tells scheduled ones apart
SLOTS = 120  # more would be a smear
SCHEDULED = frozenset({RunTrigger.SCHEDULE, RunTrigger.HINT, RunTrigger.CATCH_UP})
CLAMPED = frozenset({Source.CLAMPED_MIN, Source.CLAMPED_MAX})
DOUBLED = (2, 4, 8, 16, 32)  # what failures make of an interval
NEAR = 0.01  # two slots of one grid differ by less than this share of it
LONGEST_REASON = 120
UNSEEN = frozenset({ChangeKind.LEASE_RELEASED})  # changes that move no slot


class Slot(NamedTuple):
    """A row of the ledger as the chart reads it: one slot, or many that were skipped together."""

    run_id: UUID
    at: datetime
    until: datetime | None
    occurrences: int
    source: str
    trigger: str
    attempt: int

    @property
    def last(self) -> datetime:
        return self.until or self.at


def pace_chart(routine: Routine, changes: Sequence[ScheduleChange]) -> SafeString | None:
    """The path that the interval took over the last slots; None when there are too few of them."""
    steps = list(_steps(_slots(routine), _intervals(routine, changes)))
    flags = [_flag(change) for change in reversed(changes) if change.kind not in UNSEEN]
    return pace(steps, flags, zone=timezone.get_current_timezone())


def _slots(routine: Routine) -> list[Slot]:
    """The newest slots of the schedule that have a row, in the order of their times."""
    runs = RoutineRun.objects.using(service.ledger_alias()).filter(routine_id=routine.pk).order_by("-id")
    rows = runs.values_list("pk", "scheduled_for", "scheduled_until", "occurrences", "source", "trigger", "attempt")[
        :LOOKED_AT
    ]
    found = [Slot(*row) for row in rows]
    planned = [slot for slot in found if slot.trigger in SCHEDULED and slot.attempt == 1]
    return sorted(planned, key=lambda slot: slot.at)[-SLOTS:]


def _steps(slots: Sequence[Slot], intervals: Sequence[tuple[datetime, int]]) -> Iterator[Step]:
    if slots:
        yield from _inside(slots[0])
    for before, slot in pairwise(slots):
        if slot.at > before.last:
            seconds = (slot.at - before.last).total_seconds()
            kind = _kind(slot, seconds, intervals)
            yield _step(slot, before.last, slot.at, seconds, kind, _label(slot, seconds, kind))
        yield from _inside(slot)


def _inside(slot: Slot) -> Iterator[Step]:
    """A row of many slots says how many there were, so how far apart they were in the middle."""
    if slot.until is not None and slot.occurrences > 1 and slot.until > slot.at:
        seconds = (slot.until - slot.at).total_seconds() / (slot.occurrences - 1)
        count = slot.occurrences
        said = ngettext("{count} slot in one row, {length} apart", "{count} slots in one row, {length} apart", count)
        label = said.format(count=grouped(count), length=seconds_in_words(seconds))
        yield _step(slot, slot.at, slot.until, seconds, "baseline", label)


def _step(slot: Slot, start: datetime, end: datetime, seconds: float, kind: str, label: str) -> Step:
    href = reverse("admin:routines_routinerun_change", args=[slot.run_id])
    return Step(start=start, end=end, seconds=seconds, kind=kind, label=label, href=href)


def _kind(slot: Slot, seconds: float, intervals: Sequence[tuple[datetime, int]]) -> str:
    if slot.source in HINTED:
        return "hint"
    if slot.source in CLAMPED:
        return "clamped"
    own = next((ms for since, ms in intervals if since <= slot.at), None)
    if slot.source == Source.BASELINE_INTERVAL and own and _is_doubled(seconds * 1000 / own):
        return "back-off"
    return "baseline"


def _is_doubled(times: float) -> bool:
    """Whether the distance is what failures in a row make of the interval. No row says so itself."""
    return any(abs(times / by - 1) < NEAR for by in DOUBLED)


def _intervals(routine: Routine, changes: Sequence[ScheduleChange]) -> list[tuple[datetime, int]]:
    """The routine's own interval and since when, the newest first; edits in its history say what it was before."""
    found, interval = [], routine.interval_ms
    for change in changes:
        before, after = change.before, change.after
        if isinstance(before, dict) and isinstance(after, dict) and "interval_ms" in after:
            found.append((change.at, interval))
            interval = before.get("interval_ms")
    found.append((datetime.min.replace(tzinfo=UTC), interval))
    return [(since, ms) for since, ms in found if isinstance(ms, int)]


def _label(slot: Slot, seconds: float, kind: str) -> str:
    why = _("after failures, doubled") if kind == "back-off" else source_in_words(slot.source)
    after = _("{length} after the slot before").format(length=seconds_in_words(seconds))
    parts = [after, _told(slot.at), why]
    return " · ".join(part for part in parts if part)


def _flag(change: ScheduleChange) -> Change:
    """Who did what, and why. A reason is anybody's text: cut, and with secrets masked."""
    reason = masked_line(change.reason)
    cut = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
    parts = [
        change.get_kind_display(),
        _("by {actor}").format(actor=change.actor) if change.actor else "",
        cut,
        _told(change.at),
    ]
    return Change(at=change.at, label=" · ".join(part for part in parts if part))


def _told(at: datetime) -> str:
    return clock_time(at, timezone.get_current_timezone())
