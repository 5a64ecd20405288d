"""What fires, of the routines of one claim: those on the same schedule with the same slots are decided once.

Deciding is pure, so a thousand routines that are due at the same full hour cost little more than one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Due, Firing, decide_firing
from routines_app.core.words import CatchUpPolicy, Source
from routines_app.protocol.claim.due import DueRow
from routines_app.protocol.plan.planning import anchor_of, plan_state

# Whose slots they are, as opposed to which: routines that differ in nothing else fire alike.
_IDENTITY = frozenset(
    {
        "routine_id",
        "name",
        "task",
        "queue",
        "jitter_ms",
        "priority",
        "concurrency_policy",
        "pool_id",
        "timeout_ms",
        "created_at",
    }
)
_schedule_facts = itemgetter(*(at for at, field in enumerate(DueRow._fields) if field not in _IDENTITY))


class Firings:
    """The decisions of one claim."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._known: dict[tuple[Any, ...], Firing] = {}

    def of(self, row: DueRow, next_slot: datetime) -> Firing:
        # The creation counts only until there is a slot to count from.
        facts = (*_schedule_facts(row), None if row.last_slot is not None else row.created_at)
        found = self._known.get(facts)
        if found is None:
            found = self._known[facts] = decide_firing(_due(row, next_slot), _decided_at(row, self._now))
        return found


def _due(row: DueRow, next_slot: datetime) -> Due:
    return Due(
        plan=plan_state(row, row),
        rule=_rule(row),
        last_slot=anchor_of(row, row),
        next_slot=next_slot,
        source=Source(row.next_source),
    )


def _rule(row: DueRow) -> CatchUp:
    rule = CatchUp(
        policy=CatchUpPolicy(row.release_policy or row.catch_up_policy),
        grace_ms=row.misfire_grace_ms,
        window_ms=row.catch_up_window,
        limit=row.catch_up_limit,
    )
    # What a pause held back is released as a whole: no grace, and no window that the pause itself has used up.
    return replace(rule, grace_ms=0, window_ms=None) if row.release_until is not None else rule


def _decided_at(row: DueRow, now: datetime) -> datetime:
    """Slots of a pause that is being released are accounted for by themselves, as of its end."""
    return now if row.release_until is None else min(now, row.release_until)
