"""Continuity: each row says which slot was planned after it, and that slot's row must be there.

The pointer to the next slot moves only in two ways: a row is written for the slot it points to, and the row says where
it points then; or a change of the schedule moves it, and the history says where to. So the rows between two changes are
a linked list, and wherever it breaks a slot was lost.
"""

from __future__ import annotations

from datetime import datetime

from tests.oracle.facts import UNPLANNED, Change, History, Run
from tests.oracle.verdict import Verdict

# Changes that do not take a due slot away: a claim, or the end of the pause, will account for it.
STAYS_DUE = frozenset({"paused", "parked", "hinted", "hints_cleared", "reset"})


def check_continuity(history: History, until: datetime, verdict: Verdict) -> None:
    """Follow the pointer through the whole history, up to `until`."""
    by_slot = {run.scheduled_for: run for run in history.scheduled}
    changes = planned_changes(history)
    for at, change in enumerate(changes):
        following = changes[at + 1] if at + 1 < len(changes) else None
        pointer = follow(change.next_slot, by_slot, following)
        if pointer is None:
            continue
        if following is None:
            check_end(history, pointer, until, verdict)
        elif pointer <= following.at and pointer != following.next_slot and not explains(following):
            verdict.lost.append(f"{history.name}: {pointer} was planned, and {following.kind} left it without a row")
    announced = {run.next_planned_for for run in history.scheduled} | {change.next_slot for change in changes}
    for slot in sorted(by_slot.keys() - announced):
        run = by_slot[slot]
        if not run.is_passed_over:
            verdict.unexpected.append(f"{history.name}: nobody had planned {slot} ({run.status} {run.reason})")


def planned_changes(history: History) -> list[Change]:
    return [change for change in history.changes if change.kind not in UNPLANNED]


def follow(pointer: datetime | None, by_slot: dict[datetime, Run], following: Change | None) -> datetime | None:
    """From row to row, until a slot has none; what comes after the next change is that one's to follow."""
    while pointer is not None and pointer in by_slot:
        if following is not None and (pointer > following.at or pointer == following.next_slot):
            return None
        later = by_slot[pointer].next_planned_for
        pointer = later if later is None or later > pointer else None
    return pointer


def explains(change: Change) -> bool:
    """Changes after which a due slot may still be without a row: it stays due, or nobody knew the schedule."""
    if change.kind == "replanned":
        return change.actor == "beat"
    return change.next_slot is not None and change.kind in STAYS_DUE


def check_end(history: History, pointer: datetime, until: datetime, verdict: Verdict) -> None:
    """The last pointer is the state's own, and is not overdue unless nobody should look at the routine."""
    state = history.state
    if pointer != state["next_slot"]:
        verdict.lost.append(f"{history.name}: {pointer} was planned, but the state says {state['next_slot']}")
    awake = history.definition["status"] == "ACTIVE" and state["next_source"] != "catching-up"
    if awake and pointer <= until:
        verdict.lost.append(f"{history.name}: {pointer} is due and nobody has claimed it")
