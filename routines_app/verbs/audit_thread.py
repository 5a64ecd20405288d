"""Continuity: the plan's pointer to the next slot, followed from row to row and from change to change.

The pointer moves in two ways only: a row is written for the slot that it points to, and says where it points then; or a
change moves it, and says where to. Changes are written under the state's lock and their ids are in that order, so no
clock is asked which of two came first: machines' clocks differ, and a beat whose clock is ahead claims early.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from routines_app.core.words import HINTED, Reason, RunStatus, Source
from routines_app.verbs.audit_reading import Change, Row, Story

# Moments that are none of the schedule's own: a hint or a clamp chose them.
MOVED = HINTED | {Source.CLAMPED_MIN, Source.CLAMPED_MAX}


@dataclass(kw_only=True)
class Thread:
    """What following the pointer has shown."""

    torn: list[tuple[datetime, str]] = field(default_factory=list)
    took_effect: dict[int, datetime] = field(default_factory=dict)
    """By change: later than its time where a beat whose clock is ahead had claimed slots after it already."""


def follow(story: Story) -> Thread:
    """Follow the pointer from the last change before the window on."""
    thread = Thread(took_effect={change.id: change.at for change in story.planned})
    by_slot = {row.scheduled_for: row for row in story.rows}
    slots = sorted(by_slot)
    base = max((at for at, change in enumerate(story.planned) if change.at <= story.since), default=0)
    for at, change in enumerate(story.planned[base:], base):
        following = story.planned[at + 1] if at + 1 < len(story.planned) else None
        pointer = change.next_slot
        if at == base and pointer is not None and pointer <= story.since and pointer not in by_slot:
            pointer = slots[0] if slots else None  # the rows between are older than what was read
        _follow_leg(story, thread, by_slot, slots, pointer, following)
    thread.torn += _never_planned(story, by_slot)
    return thread


def _follow_leg(
    story: Story,
    thread: Thread,
    by_slot: dict[datetime, Row],
    slots: list[datetime],
    pointer: datetime | None,
    following: Change | None,
) -> None:
    """From one change to the next. Where the thread is torn, it goes on with the row behind."""
    while pointer is not None:
        row = by_slot.get(pointer)
        if following is not None and pointer > following.holds_from:
            if row is None or not _was_early(story, row, following):
                return  # taken back before it came, or the next leg's
            thread.took_effect[following.id] = row.last
        if following is not None and pointer == following.next_slot:
            return
        if row is not None:
            later = row.next_planned_for
            pointer = later if later is None or later > pointer else None
            continue
        if not story.since < pointer <= story.until:
            return
        if pointer == story.routine.state.next_slot:
            if not story.held:
                thread.torn.append((pointer, "is due and no beat has claimed it"))
            return
        thread.torn.append((pointer, "was planned and has no row"))
        behind = bisect_right(slots, pointer)
        pointer = slots[behind] if behind < len(slots) else None


def _was_early(story: Story, row: Row, change: Change) -> bool:
    """Whether the row was there when the change came, although its slot is later: nothing from then on planned it."""
    if change.next_slot is not None and row.last >= change.next_slot:
        return False
    return story.last_to_plan.get(row.scheduled_for, change.id) <= change.id


def _never_planned(story: Story, by_slot: dict[datetime, Row]) -> Iterator[tuple[datetime, str]]:
    announced = {row.next_planned_for for row in story.rows} | {change.next_slot for change in story.planned}
    for before, row in pairwise(story.rows):  # what planned the first one is before the window
        broken = before.next_planned_for is not None and before.next_planned_for not in by_slot  # said above
        if row.scheduled_for not in announced and not is_passed_over(row) and not broken and row.last > story.since:
            yield row.scheduled_for, f"has a row ({row.status}) and was never planned"


def is_passed_over(row: Row) -> bool:
    """Whether the row stands for slots that a hint or a clamp went past: nobody ever planned them."""
    return row.reason == Reason.SUPERSEDED or (row.status == RunStatus.SKIPPED and row.source in MOVED)
