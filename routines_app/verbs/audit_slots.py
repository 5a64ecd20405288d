"""Coverage: the slots of crons and of single moments, by the schedule that held, against the rows and their spans."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from routines_app.core.errors import RoutineError
from routines_app.core.triggers import CronTrigger, OnceTrigger, slots_between
from routines_app.core.words import BASELINES, HintKind, RunStatus, Source, TriggerKind
from routines_app.models import ChangeKind, RoutineState
from routines_app.verbs.audit_reading import Change, Row, Story
from routines_app.verbs.audit_thread import MOVED, Thread

FIELDS = ("trigger_kind", "cron", "once_at", "timezone", "start_at", "end_at")
MOST_SLOTS = 200_000  # of one schedule: a day of seconds fits twice

NO_ROW = "should have fired and has no row"

_ACCOUNTED = BASELINES | {Source.ENDED, Source.ARCHIVED, Source.MANUAL}


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The schedule that held in `(after, until]`."""

    fields: dict[str, Any]
    after: datetime
    until: datetime


@dataclass(kw_only=True)
class Coverage:
    """What comparing the slots with the rows has shown."""

    wrong: list[tuple[datetime, str]] = field(default_factory=list)
    """What does not balance, as (slot, what is wrong)."""
    unjudged: list[tuple[datetime, datetime]] = field(default_factory=list)
    """From when to when the slots are more than anybody counts."""


def check_coverage(story: Story, thread: Thread) -> Coverage:
    found = Coverage()
    for segment in _segments(story, thread):
        trigger = _trigger_of(segment)
        if trigger is None or segment.after >= segment.until:
            continue
        try:
            slots = slots_between(trigger, segment.after, segment.until, MOST_SLOTS)
        except (RoutineError, ValueError, OverflowError, KeyError) as error:
            found.wrong.append((segment.after, f"its slots by {trigger} cannot be computed: {error}"))
            continue
        if slots.truncated:
            found.unjudged.append((slots.slots[-1], segment.until))
            segment = replace(segment, until=slots.slots[-1])
        rows = [row for row in story.rows if segment.after < row.last and row.scheduled_for <= segment.until]
        held = _held_by_a_hint(story)
        found.wrong += [
            (slot, what)
            for slot, what in _compare(slots.slots, rows, segment)
            if what is not NO_ROW or not held[0] < slot <= held[1]
        ]
    return found


def _compare(slots: Sequence[datetime], rows: Sequence[Row], segment: Segment) -> Iterator[tuple[datetime, str]]:
    singles = {row.scheduled_for: row for row in rows if row.occurrences == 1}
    spans = [row for row in rows if row.occurrences > 1]
    spanned = [0] * len(slots)
    for span in spans:
        first, end = bisect_left(slots, span.scheduled_for), bisect_right(slots, span.last)
        inside = segment.after < span.scheduled_for and span.last <= segment.until
        if inside and end - first != span.occurrences:
            yield span.scheduled_for, f"begins a row for {span.occurrences} slots, and there are {end - first}"
        for at in range(first, end):
            spanned[at] += 1
    for slot, times in zip(slots, spanned, strict=True):
        single = singles.get(slot)
        if times == 0 and single is None:
            yield slot, NO_ROW
        elif times and single is not None and not (_is_moved(single) and single.status != RunStatus.SKIPPED):
            yield slot, "is accounted for in a row of its own and in a span"
        elif times > 1:
            yield slot, "is accounted for more than once"
    own = set(slots)
    for row in rows:
        if row.scheduled_for not in own and row.scheduled_for > segment.after and not _is_moved(row):
            yield row.scheduled_for, f"has a row ({row.status}) and is no slot of its schedule"


def _is_moved(row: Row) -> bool:
    """Whether the row may stand for such a moment, instead of a slot of the cron."""
    return row.source in MOVED and row.occurrences == 1


def _segments(story: Story, thread: Thread) -> list[Segment]:
    """The schedules that held within the window, walking back from the present one; none while it was archived."""
    fields = {name: getattr(story.routine, name) for name in FIELDS}
    until = min(story.until, _accounted_until(story))
    found = []
    began: datetime | None = None  # what came after the change that is looked at took effect then
    for change in reversed(story.planned):
        at = thread.took_effect[change.id]
        if change.kind == ChangeKind.ARCHIVED:
            if began is not None:
                found.append(Segment(fields=dict(fields), after=max(began, story.since), until=until))
            if at <= story.since:
                return found
            until = min(until, at)
        elif at <= story.since:
            break
        elif (replaced := _replaced(change)) is not None:
            found.append(Segment(fields=dict(fields), after=at, until=until))
            if not replaced:  # edited by plain SQL: what held before, nobody wrote down
                return found
            fields |= replaced
            until = min(until, at)
        began = at
    return [*found, Segment(fields=fields, after=story.since, until=until)]


def _accounted_until(story: Story) -> datetime:
    """What a pause, a catch-up, a hint or a clamp holds up comes into the ledger with the next claim."""
    state = story.routine.state
    paced = any(end > story.until for end in _pace_ends(state))
    held = paced or story.is_archived_unsaid or story.is_just_released
    reached = state.last_slot or story.since
    if state.next_source not in _ACCOUNTED or held:
        return reached
    unplanned_since = _unplanned_since(story)
    return story.until if unplanned_since is None else max(reached, unplanned_since)


def _unplanned_since(story: Story) -> datetime | None:
    """When a change left nothing to plan before the schedule's end, because of a clamp or a hint. Nobody wrote off what
    was still to come, as the change may be taken back; the next one accounts for what has passed until then."""
    last = story.planned[-1] if story.planned else None
    if last is None or last.next_slot is not None or story.routine.state.next_source != Source.ENDED:
        return None
    hints = [change for change in story.changes if change.kind == ChangeKind.HINT_EXPIRED]
    by_hint = bool(hints) and hints[-1].after.get("next_source") == Source.ENDED
    return last.at if by_hint or story.routine.min_interval_ms is not None else None


def _held_by_a_hint(story: Story) -> tuple[datetime, datetime]:
    """After which slot and until when a pace that is over has held slots up, which the next claim writes down; where
    none will come, they are in the ledger."""
    state = story.routine.state
    reached = state.last_slot or story.since
    return reached, max(_pace_ends(state), default=reached) if state.next_source in BASELINES else reached


def _pace_ends(state: RoutineState) -> list[datetime]:
    """When the hints about the pace end, or have ended, that are stored."""
    return [hint.expires_at for kind in (HintKind.INTERVAL, HintKind.FACTOR) if (hint := state.hint(kind))]


def _replaced(change: Change) -> dict[str, Any] | None:
    """The fields of the schedule as they were before the change; None when it left the schedule alone."""
    if change.kind == ChangeKind.REPLANNED and any(name in change.after for name in FIELDS):
        return {}
    return {name: value for name, value in change.before.items() if name in FIELDS} or None


def _trigger_of(segment: Segment) -> CronTrigger | OnceTrigger | None:
    """What says exactly when it should have fired: an interval moves with its failures."""
    fields = segment.fields
    start_at, end_at, once_at = (_moment(fields[name]) for name in ("start_at", "end_at", "once_at"))
    match fields["trigger_kind"]:
        case TriggerKind.CRON:
            return CronTrigger(expression=fields["cron"], timezone=fields["timezone"], start_at=start_at, end_at=end_at)
        case TriggerKind.ONCE if once_at is not None:
            return OnceTrigger(at=once_at, start_at=start_at, end_at=end_at)
    return None


def _moment(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
